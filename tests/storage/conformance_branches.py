"""What every store must do with the branches of chats. A backend's test file subclasses it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mobox.errors import BranchActive, ChatNotFound, LogDeleted, RunNotFound
from mobox.events import Custom, Done, Start, StreamEvent, Usage
from mobox.events.message import Message
from mobox.events.turn import Action, Cut, Place, PromptText, Request, UserMessage
from mobox.events.usage import Totals
from mobox.storage import Storage
from mobox.storage.branches import Branches
from mobox.storage.chats import RunFacts
from mobox.storage.log import Run
from storage.conformance import (
    ANSWER,
    BEGINNING,
    ENDING,
    QUESTION,
    SETTINGS,
    Conformance,
    begin,
    opened,
    say,
    submit,
    turn,
    words,
)


def edit(of: str, text: str, message_id: str | None = None) -> Request:
    """As `useChat` edits: the message keeps its id, unless another one is given."""
    message = UserMessage(id=message_id or of, parts=(PromptText(text=text),))
    return Request(chat_id="chat", action=Action.EDIT, message=message, cut=Cut(Place.BEFORE, of))


def regenerate() -> Request:
    return Request(chat_id="chat", action=Action.REGENERATE, cut=Cut(Place.ANSWER))


async def answered(store: Storage, request: Request, answer: str) -> Run:
    run = await begin(store, request)
    await say(store, run, *BEGINNING, *words(answer), *ENDING)
    return run


async def texts(store: Storage) -> list[str]:
    bodies = [message.body for message in (await store.history("ann", "chat")).messages]
    return [body.content if isinstance(body, Message) else body.text for body in bodies]


def counters(branches: Branches) -> dict[str, tuple[int, int]]:
    """As a page shows them: which of how many."""
    return {fork.message_id: (fork.chosen + 1, len(fork.versions)) for fork in branches.forks}


class BranchesConformance(Conformance):
    """Nothing is lost by an edit or a regeneration, and every reader sees the chosen branch."""

    async def test_a_chat_without_edits_has_one_branch(self, store: Storage) -> None:
        await turn(store, "one", "1")
        second = await turn(store, "two", "2", "u2")
        found = await store.branches("ann", "chat")
        assert (found.run_id, found.forks) == (second.id, ())

    async def test_an_edit_keeps_both_branches(self, store: Storage) -> None:
        await turn(store, "one", "1")
        old = await turn(store, "two", "2", "u2")
        new = await answered(store, edit("u2", "zwei"), "II")
        found = await store.branches("ann", "chat")
        assert found.run_id == new.id
        assert counters(found) == {"u2": (2, 2)}
        assert [version.run_id for version in found.forks[0].versions] == [old.id, new.id]
        chosen = await store.choose_branch("ann", "chat", old.id)
        assert (chosen.run_id, counters(chosen)) == (old.id, {"u2": (1, 2)})
        assert await texts(store) == ["one", "1", "two", "2"]
        await store.choose_branch("ann", "chat", new.id)
        assert await texts(store) == ["one", "1", "zwei", "II"]

    async def test_regenerated_answers_are_versions(self, store: Storage) -> None:
        first = await turn(store, "one", "1")
        second = await answered(store, regenerate(), "I")
        third = await answered(store, regenerate(), "eins")
        assert counters(await store.branches("ann", "chat")) == {third.id: (3, 3)}
        await store.choose_branch("ann", "chat", first.id)
        assert counters(await store.branches("ann", "chat")) == {first.id: (1, 3)}
        await store.choose_branch("ann", "chat", second.id)
        assert await texts(store) == ["one", "I"]

    async def test_choosing_a_version_shows_its_newest_end(self, store: Storage) -> None:
        first = await turn(store, "one", "1")
        await turn(store, "two", "2", "u2")
        newest = await turn(store, "three", "3", "u3")
        await answered(store, edit("u1", "eins", "u1b"), "I")
        (fork,) = (await store.branches("ann", "chat")).forks
        assert fork.versions[0].run_id == newest.id
        await store.choose_branch("ann", "chat", first.id)  # in the middle of it
        assert await texts(store) == ["one", "1", "two", "2", "three", "3"]

    async def test_forks_inside_of_forks(self, store: Storage) -> None:
        await turn(store, "one", "1")
        inner_old = await turn(store, "two", "2", "u2")
        inner_new = await answered(store, edit("u2", "zwei"), "II")
        outer = await answered(store, edit("u1", "eins"), "I")
        assert counters(await store.branches("ann", "chat")) == {"u1": (2, 2)}
        await store.choose_branch("ann", "chat", inner_old.id)
        assert counters(await store.branches("ann", "chat")) == {"u1": (1, 2), "u2": (1, 2)}
        assert await texts(store) == ["one", "1", "two", "2"]
        await store.choose_branch("ann", "chat", inner_new.id)
        await store.choose_branch("ann", "chat", outer.id)
        assert await texts(store) == ["eins", "I"]

    async def test_a_new_message_continues_the_chosen_branch(self, store: Storage) -> None:
        await turn(store, "one", "1")
        old = await turn(store, "two", "2", "u2")
        new = await answered(store, edit("u2", "zwei"), "II")
        await store.choose_branch("ann", "chat", old.id)
        await turn(store, "three", "3", "u3")
        assert await texts(store) == ["one", "1", "two", "2", "three", "3"]
        assert counters(await store.branches("ann", "chat")) == {"u2": (1, 2)}
        await store.choose_branch("ann", "chat", new.id)
        assert await texts(store) == ["one", "1", "zwei", "II"]

    async def test_lists_runs_and_pages_agree(self, store: Storage) -> None:
        old = await turn(store, "a walrus", "1")
        new = await answered(store, edit("u1", "a tapir"), "I")
        await store.choose_branch("ann", "chat", old.id)
        assert {run.id: run.superseded for run in await store.runs("ann", "chat")} == {
            old.id: False,
            new.id: True,
        }
        assert (await store.chats("ann", query="walrus")).chats
        assert not (await store.chats("ann", query="tapir")).chats
        page = await store.messages("ann", "chat", limit=1)
        assert [message.id for message in page.messages] == [old.id]
        earlier = await store.messages("ann", "chat", page.before, limit=1)
        assert [message.id for message in earlier.messages] == ["u1"]

    @pytest.mark.parametrize("is_waiting", [False, True])
    async def test_an_active_run_keeps_its_branch(self, is_waiting: bool, store: Storage) -> None:
        old = await turn(store, "one", "1")
        new = await begin(store, edit("u1", "eins"))
        await say(store, new, *BEGINNING, *(QUESTION if is_waiting else []))
        with pytest.raises(BranchActive) as refused:
            await store.choose_branch("ann", "chat", old.id)
        assert refused.value.run_id == new.id
        assert (await store.choose_branch("ann", "chat", new.id)).run_id == new.id
        await say(store, new, *(ANSWER if is_waiting else []), *ENDING)
        assert (await store.choose_branch("ann", "chat", old.id)).run_id == old.id

    async def test_only_runs_of_the_chat_name_branches(self, store: Storage) -> None:
        await turn(store, "one", "1")
        other = await turn(store, "two", "2", chat_id="other")
        with pytest.raises(RunNotFound):
            await store.choose_branch("ann", "chat", other.id)
        assert await texts(store) == ["one", "1"]

    async def test_all_branches_are_deleted_with_the_chat(self, store: Storage) -> None:
        old = await turn(store, "one", "1")
        new = await answered(store, edit("u1", "eins"), "I")
        await store.delete("ann", "chat")
        for run in (old, new):
            with pytest.raises(LogDeleted):
                await store.run("ann", run.id)
        with pytest.raises(ChatNotFound):
            await store.branches("ann", "chat")
        await turn(store, "anew", "1")
        assert (await store.branches("ann", "chat")).forks == ()

    async def test_a_switch_and_a_message_at_the_same_time(self, store: Storage) -> None:
        """Whichever is first: the message continues what the history then shows."""
        old = await turn(store, "one", "1")
        await answered(store, edit("u1", "eins"), "I")
        switch = store.choose_branch("ann", "chat", old.id)
        run, chosen = await asyncio.gather(
            begin(store, submit("more", "u2")), switch, return_exceptions=True
        )
        assert isinstance(run, Run)
        await say(store, run, *BEGINNING, *words("2"), *ENDING)
        is_chosen = not isinstance(chosen, BaseException)
        first = ["one", "1"] if is_chosen else ["eins", "I"]
        assert await texts(store) == [*first, "more", "2"]

    async def test_other_processes_and_later_ones_see_the_choice(self, tmp_path: Path) -> None:
        async with opened(lambda: self.open(tmp_path, SETTINGS), 2) as (one, two):
            old = await turn(one, "one", "1")
            await answered(two, edit("u1", "eins"), "I")
            await two.choose_branch("ann", "chat", old.id)
            assert await texts(one) == ["one", "1"]
        async with opened(lambda: self.open(tmp_path, SETTINGS)) as (later,):
            assert await texts(later) == ["one", "1"]

    # Models and tokens of runs

    async def test_runs_have_their_models_and_tokens_in_every_branch(self, store: Storage) -> None:
        old = await begin(store, submit("one"))
        used: list[StreamEvent] = [
            Start(framework="demo", simulated=True),
            Usage(id="c1", input=100, output=5, cache_read=40, model="tiny"),
            Usage(id="c2", input=120, output=7, reasoning=3, model="tiny"),
            Usage(id="c3", input=9, output=9, model="of a subagent", scope=("s1",)),
            Done(reason="stop"),
        ]
        await say(store, old, *used)
        new = await begin(store, edit("u1", "eins"))
        await say(store, new, Start(framework="demo", model="named at the start"))
        await say(store, new, Custom(name="agent-started", value={"model": "named later"}))
        running = RunFacts(run=await store.run("ann", new.id))
        first, second = await store.run_facts("ann", "chat")
        assert first == RunFacts(
            run=await store.run("ann", old.id),
            model="tiny",
            simulated=True,
            usage=Totals(input=229, output=21, cache_read=40, reasoning=3),
            context=127,
        )
        assert second.run.id == running.run.id and second.model is None
        await say(store, new, Done(reason="stop"))
        for _ in range(2):  # folded, then from the cache
            _, second = await store.run_facts("ann", "chat")
            assert (second.model, second.simulated, second.usage) == ("named later", False, None)
            await store.history("ann", "chat")
            await store.chats("ann", query="folds all")

    async def test_facts_of_a_message_with_zero_bytes(self, store: Storage) -> None:
        run = await begin(store, submit("one"))
        used = Usage(id="c1", input=1, output=2, model="tiny")
        await say(store, run, *BEGINNING, *words("a\0b"), used, *ENDING)
        await store.history("ann", "chat")
        await store.chats("ann", query="folds all")
        (facts,) = await store.run_facts("ann", "chat")
        assert (facts.model, facts.context) == ("tiny", 3)
