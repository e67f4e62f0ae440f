"""What every store must do with what is old: mixed into a backend's `StorageConformance`."""

from __future__ import annotations

import pytest

from mobox.errors import LogDeleted, RunNotFound
from mobox.storage import Storage
from mobox.storage.chats import IdleChat
from mobox.storage.log import RawLine, Run
from storage.conformance import (
    ANSWER,
    BEGINNING,
    DONE,
    QUESTION,
    Conformance,
    begin,
    say,
    submit,
    turn,
)


async def after(store: Storage, chat_id: str = "chat", owner: str = "ann") -> int:
    """The first moment at which nothing has happened in a chat for a while."""
    return (await store.chat(owner, chat_id)).updated_at + 1


def idle(*runs: Run) -> IdleChat:
    first, *_ = runs
    return IdleChat(id=first.chat_id, owner=first.owner, runs=tuple(run.id for run in runs))


class PruningConformance(Conformance):
    """Chats that are idle, and raw lines that are old."""

    async def test_a_chat_is_idle_from_its_last_change_on(self, store: Storage) -> None:
        first = await turn(store, "Hello", "Hi")
        second = await turn(store, "And now?", "Bye", "u2")
        since = await after(store)
        assert await store.idle_chats(since - 1) == []
        assert await store.idle_chats(since) == [idle(first, second)]

    async def test_idle_chats_of_all_owners_are_listed_oldest_first(self, store: Storage) -> None:
        hers = await turn(store, "Hello", "Hi", chat_id="hers")
        his = await begin(store, submit(chat_id="his"), owner="bob")
        await say(store, his, *BEGINNING, DONE)
        since = await after(store, "his", "bob")
        assert await store.idle_chats(since) == [idle(hers), idle(his)]

    async def test_a_chat_whose_run_goes_on_or_waits_is_not_idle(self, store: Storage) -> None:
        run = await begin(store)
        assert await store.idle_chats(await after(store)) == []
        await say(store, run, *BEGINNING, *QUESTION)
        assert await store.idle_chats(await after(store)) == []
        assert not await store.delete_idle(idle(run), await after(store))
        await say(store, run, *ANSWER, DONE)
        assert await store.idle_chats(await after(store)) == [idle(run)]

    async def test_an_idle_chat_is_deleted_as_its_owner_would(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        kept = await turn(store, "Hello", "Hi", chat_id="kept")
        assert await store.delete_idle(idle(run), await after(store))
        with pytest.raises(LogDeleted):
            await store.run("ann", run.id)
        assert [chat.id for chat in (await store.chats("ann")).chats] == ["kept"]
        assert await store.idle_chats(await after(store, "kept")) == [idle(kept)]

    async def test_a_chat_that_was_used_meanwhile_is_kept(self, store: Storage) -> None:
        first = await turn(store, "Hello", "Hi")
        since = await after(store)
        (found,) = await store.idle_chats(since)
        running = await begin(store, submit("More", "u2"))
        assert not await store.delete_idle(found, since)
        await say(store, running, *BEGINNING, DONE)
        assert not await store.delete_idle(found, (await store.chat("ann", "chat")).updated_at)
        assert (await store.run("ann", first.id)).status == "done"

    async def test_missing_or_foreign_chats_are_not_deleted(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        since = await after(store)
        stranger = IdleChat(id="chat", owner="bob", runs=(run.id,))
        assert not await store.delete_idle(stranger, since)
        assert await store.delete_idle(idle(run), since)
        assert not await store.delete_idle(idle(run), since)

    async def test_that_a_run_was_deleted_is_forgotten_at_last(self, store: Storage) -> None:
        run = await turn(store, "Hello", "Hi")
        kept = await turn(store, "Hello", "Hi", chat_id="kept")
        begun_at = run.started_at
        await store.delete("ann", "chat")
        assert await store.forget_deleted(begun_at) == 0
        with pytest.raises(LogDeleted):
            await store.run("ann", run.id)
        assert await store.forget_deleted(begun_at + 3_600_000) == 1
        assert await store.forget_deleted(begun_at + 3_600_000) == 0
        with pytest.raises(RunNotFound) as told:
            await store.run("ann", run.id)
        assert not isinstance(told.value, LogDeleted)
        assert (await store.run("ann", kept.id)).status == "done"

    async def test_raw_lines_are_counted_as_they_would_be_dropped(self, store: Storage) -> None:
        for chat_id, events in (("over", [*BEGINNING, DONE]), ("running", BEGINNING)):
            run = await begin(store, submit(chat_id=chat_id))
            await store.append(run.id, 1, events, None, [RawLine(b"a"), RawLine(b"b")])
        (over,) = await store.runs("ann", "over")
        assert over.ended_at is not None
        assert await store.count_raw(over.ended_at) == 0
        assert await store.count_raw(over.ended_at + 1) == 2
        assert await store.drop_raw(over.ended_at + 1) == 2
        assert await store.count_raw(over.ended_at + 1) == 0
