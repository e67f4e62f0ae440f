"""What every store must do with feedback. A backend's test file subclasses it."""

from __future__ import annotations

import pytest

from mobox.errors import RunNotFound
from mobox.storage import Storage
from mobox.storage.feedback import Feedback
from storage.conformance import Conformance, turn
from storage.conformance_branches import answered, edit


def brief(found: list[Feedback]) -> list[tuple[str, str, str]]:
    return [(each.run_id, each.value, each.comment) for each in found]


class FeedbackConformance(Conformance):
    """One opinion per person and answer."""

    async def test_an_opinion_is_stored_changed_and_taken_back(self, store: Storage) -> None:
        run = await turn(store, "one", "1")
        assert await store.feedback("ann", "chat") == []
        given = await store.give_feedback("ann", "chat", run.id, "up", "")
        assert await store.feedback("ann", "chat") == [given]
        changed = await store.give_feedback("ann", "chat", run.id, "down", "too short\0 ✂️")
        assert (changed.value, changed.created_at) == ("down", given.created_at)
        assert brief(await store.feedback("ann", "chat"))[0][:2] == (run.id, "down")
        assert "too short" in changed.comment
        for _ in range(2):  # the second changes nothing
            await store.take_back_feedback("ann", "chat", run.id)
            assert await store.feedback("ann", "chat") == []

    async def test_answers_of_all_branches_keep_theirs(self, store: Storage) -> None:
        old = await turn(store, "one", "1")
        await store.give_feedback("ann", "chat", old.id, "down", "wrong")
        new = await answered(store, edit("u1", "eins"), "I")
        await store.give_feedback("ann", "chat", new.id, "up", "")
        expected = [(old.id, "down", "wrong"), (new.id, "up", "")]
        assert brief(await store.feedback("ann", "chat")) == expected

    async def test_only_answers_of_the_chat_have_feedback(self, store: Storage) -> None:
        await turn(store, "one", "1")
        other = await turn(store, "two", "2", chat_id="other")
        for use in (
            store.give_feedback("ann", "chat", other.id, "up", ""),
            store.take_back_feedback("ann", "chat", other.id),
        ):
            with pytest.raises(RunNotFound):
                await use
        assert await store.feedback("ann", "other") == []

    async def test_it_is_deleted_with_the_chat(self, store: Storage) -> None:
        run = await turn(store, "one", "1")
        await store.give_feedback("ann", "chat", run.id, "up", "fine")
        await store.delete("ann", "chat")
        await turn(store, "anew", "1")
        assert await store.feedback("ann", "chat") == []

    async def test_it_is_deleted_with_an_idle_chat(self, store: Storage) -> None:
        run = await turn(store, "one", "1")
        await store.give_feedback("ann", "chat", run.id, "up", "fine")
        since = 2**50
        for chat in await store.idle_chats(since):
            assert await store.delete_idle(chat, since)
        await turn(store, "anew", "1")
        assert await store.feedback("ann", "chat") == []
