"""What every store must do with the permissions of chats. A backend's test file subclasses it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from mobox.errors import ChatNotFound, Fenced, PermissionNotFound
from mobox.events import InputRequest, InputResponse, Paused, StreamEvent
from mobox.storage import Storage
from mobox.storage.log import Run
from mobox.storage.permissions import Permission
from storage.conformance import SETTINGS, Conformance, begin, opened, say, submit

ASKS: list[StreamEvent] = [
    InputRequest(id="r1", tool_call_id="c1"),
    InputRequest(id="r2", tool_call_id="c2"),
    Paused(request_ids=("r1", "r2")),
]
YES = InputResponse(id="r1", decision="approved", permission="perm_1")
ANY = Permission(id="perm_1", agent="demo", tool="delete", created_at=1000)
EXACT = replace(ANY, id="perm_2", input={"path": "ä\0", "n": [1, None, {"b": 2, "a": 1.5}]})


async def asks(store: Storage, chat_id: str = "chat", message_id: str = "u1") -> Run:
    run = await begin(store, submit(chat_id=chat_id, message_id=message_id))
    await say(store, run, *ASKS)
    return run


async def allow(store: Storage, run: Run, *permissions: Permission) -> None:
    """As an attempt that is still there stores an answer."""
    await store.append(run.id, run.epoch, [YES], 1000, permissions=permissions)


class PermissionsConformance(Conformance):
    """Permissions are stored with their answers, and belong to a chat."""

    async def test_an_answer_and_its_permissions_are_stored_together(self, store: Storage) -> None:
        run = await asks(store)
        assert await store.permissions("ann", "chat") == []
        await allow(store, run, ANY, EXACT)
        assert await store.permissions("ann", "chat") == [ANY, EXACT]
        assert await store.granted(run.id) == [ANY, EXACT]
        assert (await store.read(run.id))[-1].event == YES

    async def test_an_answer_that_starts_an_attempt_has_its_permission(
        self, store: Storage
    ) -> None:
        run = await asks(store)
        resumed = await store.next_attempt(run.id, run.epoch, [YES], 1000, permissions=[EXACT])
        assert resumed.status == "running"
        assert await store.permissions("ann", "chat") == [EXACT]

    async def test_a_permission_may_come_while_the_run_waits_on(self, store: Storage) -> None:
        run = await asks(store)
        events = [YES, Paused(request_ids=("r2",))]
        await store.append(run.id, run.epoch, events, 1000, permissions=[ANY])
        assert (await store.run("ann", run.id)).status == "waiting"
        assert await store.permissions("ann", "chat") == [ANY]

    async def test_an_answer_that_is_not_stored_allows_nothing(self, store: Storage) -> None:
        run = await asks(store)
        with pytest.raises(Fenced):
            await store.append(run.id, run.epoch + 1, [YES], 1000, permissions=[ANY])
        with pytest.raises(Fenced):
            await store.next_attempt(run.id, run.epoch + 1, [YES], 1000, permissions=[ANY])
        assert await store.permissions("ann", "chat") == []

    async def test_an_answer_that_the_database_refuses_allows_nothing(self, store: Storage) -> None:
        run = await asks(store)
        with pytest.raises(OverflowError):
            await store.append(run.id, run.epoch, [YES], 2**70, permissions=[ANY])
        assert await store.permissions("ann", "chat") == []

    async def test_one_of_many_answers_counts_with_its_permission(self, store: Storage) -> None:
        run = await asks(store)
        given = [replace(ANY, id=f"perm_{n}", tool=f"tool_{n}") for n in range(5)]
        answers = [
            store.next_attempt(run.id, run.epoch, [YES], 1000, permissions=[each]) for each in given
        ]
        outcomes = await asyncio.gather(*answers, return_exceptions=True)
        (first,) = [n for n, each in enumerate(outcomes) if isinstance(each, Run)]
        assert await store.permissions("ann", "chat") == [given[first]]

    async def test_the_same_is_stored_once(self, store: Storage) -> None:
        run = await asks(store)
        again: dict[str, Any] = {"n": [1, None, {"a": 1.5, "b": 2}], "path": "ä\0"}
        await allow(store, run, ANY, EXACT)
        await allow(store, run, replace(ANY, id="perm_3"), replace(EXACT, id="perm_4", input=again))
        assert await store.permissions("ann", "chat") == [ANY, EXACT]

    @pytest.mark.parametrize("value", [None, "", 0, False, [], {}, "null"], ids=repr)
    async def test_an_empty_input_is_not_any_input(self, value: Any, store: Storage) -> None:
        run = await asks(store)
        await allow(store, run, ANY, replace(EXACT, input=value))
        first, second = await store.permissions("ann", "chat")
        assert first.input is UNSET
        assert second.input == value and type(second.input) is type(value)

    async def test_permissions_are_for_one_agent_of_one_chat(self, store: Storage) -> None:
        run, other = await asks(store), await asks(store, "other")
        await allow(store, run, ANY, replace(EXACT, agent="another"))
        assert await store.granted(run.id) == [ANY]
        assert await store.granted(other.id) == []
        assert await store.permissions("ann", "other") == []

    async def test_a_revoked_permission_is_gone(self, store: Storage) -> None:
        run = await asks(store)
        await allow(store, run, ANY, EXACT)
        await store.revoke_permission("ann", "chat", ANY.id)
        assert await store.granted(run.id) == [EXACT]
        with pytest.raises(PermissionNotFound):
            await store.revoke_permission("ann", "chat", ANY.id)

    async def test_only_the_owner_sees_and_revokes_them(self, store: Storage) -> None:
        run = await asks(store)
        await asks(store, "other")
        await allow(store, run, ANY)
        for owner, chat, error in [
            ("bob", "chat", ChatNotFound),
            ("ann", "other", PermissionNotFound),
        ]:
            with pytest.raises(error):
                await store.revoke_permission(owner, chat, ANY.id)
        with pytest.raises(ChatNotFound):
            await store.permissions("bob", "chat")
        assert await store.permissions("ann", "chat") == [ANY]

    async def test_they_are_deleted_with_their_chat(self, store: Storage) -> None:
        run = await asks(store)
        await allow(store, run, ANY)
        await store.delete("ann", "chat")
        assert await store.granted(run.id) == []
        await asks(store)
        assert await store.permissions("ann", "chat") == []

    async def test_other_processes_and_later_ones_have_them(self, tmp_path: Path) -> None:
        async with opened(lambda: self.open(tmp_path, SETTINGS), 2) as (one, two):
            run = await asks(one)
            await allow(one, run, ANY, EXACT)
            assert await two.granted(run.id) == [ANY, EXACT]
            await two.revoke_permission("ann", "chat", ANY.id)
            assert await one.granted(run.id) == [EXACT]
        async with opened(lambda: self.open(tmp_path, SETTINGS)) as (later,):
            assert await later.permissions("ann", "chat") == [EXACT]
