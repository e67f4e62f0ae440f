"""What was allowed for a chat is not asked again: not of anybody, by whichever process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mobox import emit
from mobox.capture.asking import Turn
from mobox.capture.catalog import Agent, agent
from mobox.errors import InvalidRequest, PermissionNotFound
from mobox.events import InputRequest, InputResponse, Paused, StreamEvent, ToolResult
from mobox.events.turn import Answer, AnswerScope
from mobox.settings import Settings
from mobox.supervisor.permissions import MOST
from supervisor.stage import (
    IMPATIENT,
    QUIET,
    Stage,
    pauses_in,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)

HELD_OR_NOT = pytest.mark.parametrize("limits", [QUIET, IMPATIENT], ids=["held", "let go"])

pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def deleter(tmp_path: Path) -> Agent:
    """Asks about each path in the prompt, one after the other; its process waits."""
    code = """
        turn = read_turn()
        paths = (turn.prompt or turn.messages()[-2]["content"]).split()
        for n, path in enumerate(paths):
            if not turn.answer(f"r{n}"):
                emit_tool_use("delete", {"path": path}, id=f"c{n}")
            told = ask("Sure?", kind="approval", tool_call_id=f"c{n}", id=f"r{n}")
            assert "scope" not in told, told
            emit_tool_result(f"c{n}", told["decision"])
            emit_text(f"{told['decision']} ")
        emit_done()
    """
    return write_agent(tmp_path / "deleter", code)


@pytest.fixture
def leaver(tmp_path: Path) -> Agent:
    """Asks about all paths at once and exits; the answers start it again."""
    code = """
        turn = read_turn()
        with open(state / "processes", "a") as file:
            file.write(f"{turn.resume}\\n")
        if not turn.answers:
            names = []
            for n, path in enumerate(turn.prompt.split()):
                emit_tool_use("delete", {"path": path}, id=f"c{n}")
                names.append(emit_input_request(
                    "approval", id=f"r{n}", tool_call_id=f"c{n}", prompt="Sure?"
                ))
            emit_paused(*names, resume={"at": 1})
        else:
            for answer in turn.answers:
                emit_tool_result(answer["tool_call_id"], answer["decision"])
                emit_text(f"{answer['request_id']} ")
            emit_done()
    """
    return write_agent(tmp_path / "leaver", code)


def allows(name: str, scope: AnswerScope = "chat") -> Answer:
    return Answer(decision="approved", request_id=name, scope=scope)


def answers_in(events: list[StreamEvent]) -> list[tuple[str | None, bool]]:
    """The requests that were answered, and whether automatically."""
    return [(e.id, e.automatic) for e in events if isinstance(e, InputResponse)]


async def second(stage: Stage, text: str = "b") -> list[StreamEvent]:
    """The whole log of another turn, in which nobody answers."""
    return await stage.until_it_ends(await stage.begin(submit(text, "m2")))


# What is not asked


@HELD_OR_NOT
async def test_a_tool_that_was_allowed_is_not_asked_about_again(
    tmp_path: Path, deleter: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, deleter, limits=limits) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        first = await stage.answered(run, allows("r0"))
        (permission,) = await stage.store.permissions("ann", "chat")
        assert (permission.agent, permission.tool) == ("deleter", "delete")
        (given,) = [e for e in first if isinstance(e, InputResponse)]
        assert given == InputResponse(id="r0", decision="approved", permission=permission.id)
        log = await second(stage, "b c")
        assert text_of(log) == "approved approved "
        assert [e for e in log if isinstance(e, InputResponse)] == [
            InputResponse(id=name, decision="approved", permission=permission.id, automatic=True)
            for name in ("r0", "r1")
        ]
        assert len(await stage.store.permissions("ann", "chat")) == 1


async def test_the_run_never_counts_as_waiting(tmp_path: Path, deleter: Agent) -> None:
    async with staged(tmp_path, deleter) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0"))
        run = await stage.begin(submit("b c", "m2"))
        log = await stage.until_it_waits(run)  # which ends where a reader finds it waiting
        assert reason_of(log) == "stop"
        assert (await stage.store.run("ann", run.id)).leg == 1


@pytest.mark.parametrize(("path", "asked"), [("a", False), ("b", True)])
async def test_an_input_that_was_allowed_is_that_input_alone(
    tmp_path: Path, deleter: Agent, path: str, asked: bool
) -> None:
    async with staged(tmp_path, deleter) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0", "chat_input"))
        (permission,) = await stage.store.permissions("ann", "chat")
        assert permission.input == {"path": "a"}
        again = await stage.begin(submit(path, "m2"))
        log = await stage.until_it_waits(again)
        assert answers_in(log) == ([] if asked else [("r0", True)])
        assert (await stage.store.run("ann", again.id)).status == ("waiting" if asked else "done")


async def test_an_agent_that_has_exited_is_started_again_by_itself(
    tmp_path: Path, leaver: Agent
) -> None:
    async with staged(tmp_path, leaver) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0"))
        log = await second(stage, "b c")
        assert text_of(log) == "r0 r1 "
        assert answers_in(log) == [("r0", True), ("r1", True)]
        processes = (stage.state / "processes").read_text().splitlines()
        assert processes == ["None", "{'at': 1}", "None", "{'at': 1}"]  # it has what it left


async def test_of_several_requests_the_others_are_asked(tmp_path: Path, leaver: Agent) -> None:
    async with staged(tmp_path, leaver) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0", "chat_input"))
        again = await stage.begin(submit("b a c", "m2"))
        log = await stage.until_it_waits(again)
        assert answers_in(log) == [("r1", True)]
        assert isinstance(log[-1], Paused) and log[-1].request_ids == ("r0", "r2")
        await stage.until_nothing_runs()
        done = await stage.answered(
            again, Answer(decision="denied", request_id="r0"), allows("r2", "once")
        )
        assert text_of(done) == "r0 r1 r2 "


@HELD_OR_NOT
async def test_an_answer_also_answers_the_other_open_requests(
    tmp_path: Path, leaver: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, leaver, limits=limits) as stage:
        run = await stage.begin(submit("a b c"))
        await stage.until_it_waits(run)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        log = await stage.answered(run, allows("r1"))
        assert answers_in(log) == [("r1", False), ("r0", True), ("r2", True)]
        assert text_of(log) == "r0 r1 r2 "


async def test_a_function_gets_its_answer_at_once(tmp_path: Path) -> None:
    async def asks(turn: Turn) -> AsyncIterator[object]:
        for name in ("c0", "c1"):
            yield emit.tool_use("delete", {}, id=name)
            answer = await turn.ask("Sure?", kind="approval", tool_call_id=name)
            yield emit.tool_result(name, answer.decision)

    async with staged(tmp_path, agent("it")(asks)) as stage:
        run = await stage.begin()
        log = await stage.until_it_waits(run)
        (request,) = [e for e in log if isinstance(e, InputRequest)]
        log = await stage.answered(run, allows(request.id or ""))
        assert [automatic for _, automatic in answers_in(log)] == [False, True]
        assert [e.output for e in log if isinstance(e, ToolResult)] == ["approved", "approved"]


# What is asked all the same


async def test_another_agent_of_the_chat_asks(
    tmp_path: Path, deleter: Agent, leaver: Agent
) -> None:
    async with staged(tmp_path, deleter, leaver) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0"))
        other = await stage.begin(submit("a", "m2", agent="leaver"))
        log = await stage.until_it_waits(other)
        assert pauses_in(log) and answers_in(log) == []


async def test_another_chat_asks(tmp_path: Path, deleter: Agent) -> None:
    async with staged(tmp_path, deleter) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0"))
        other = await stage.begin(submit("a", "m2", chat_id="other"))
        assert answers_in(await stage.until_it_waits(other)) == []


async def test_a_revoked_permission_allows_nothing(tmp_path: Path, deleter: Agent) -> None:
    async with staged(tmp_path, deleter) as stage:
        run = await stage.begin(submit("a b"))
        await stage.until_it_waits(run)
        async with staged(tmp_path / "other", deleter, url=f"sqlite:///{tmp_path}/mobox.db") as far:
            await stage.answered(run, allows("r0"))
            (permission,) = await far.store.permissions("ann", "chat")
            await far.store.revoke_permission("ann", "chat", permission.id)
        again = await stage.begin(submit("a", "m2"))
        assert answers_in(await stage.until_it_waits(again)) == []
        with pytest.raises(PermissionNotFound):
            await stage.store.revoke_permission("ann", "chat", permission.id)


async def test_what_another_process_allowed_counts_here(tmp_path: Path, leaver: Agent) -> None:
    url = f"sqlite:///{tmp_path}/mobox.db"
    async with staged(tmp_path, leaver, url=url) as stage:
        run = await stage.begin(submit("a"))
        await stage.until_it_waits(run)
        async with staged(tmp_path / "other", leaver, url=url) as far:
            await stage.until_nothing_runs()
            await far.answered(run, allows("r0"))
        assert answers_in(await second(stage)) == [("r0", True)]


async def test_only_approve_can_be_automatic(tmp_path: Path) -> None:
    code = """
        turn = read_turn()
        for n, allowed in enumerate((["approve"], ["edit", "reject"])):
            emit_tool_use("delete", {}, id=f"c{n}")
            ask("Sure?", kind="approval", tool_call_id=f"c{n}", id=f"r{n}", allowed=allowed)
            emit_tool_result(f"c{n}", "")
        emit_done()
    """
    async with staged(tmp_path, write_agent(tmp_path / "picky", code)) as stage:
        run = await stage.begin()
        await stage.until_it_waits(run)
        await stage.supervisor.answer("ann", run.id, (allows("r0"),))
        assert answers_in(await stage.until_it_waits(run)) == [("r0", False)]


# Answers that cannot last


@HELD_OR_NOT
@pytest.mark.parametrize("decision", ["denied", "edited", "answered", "cancelled"])
async def test_only_an_approval_can_last(tmp_path: Path, limits: Settings, decision: Any) -> None:
    code = """
        turn = read_turn()
        emit_tool_use("delete", {}, id="c0")
        allowed = ["approve", "reject", "edit", "respond"]
        ask("Sure?", kind="approval", tool_call_id="c0", id="r0", allowed=allowed)
    """
    async with staged(tmp_path, write_agent(tmp_path / "it", code), limits=limits) as stage:
        run = await stage.begin()
        await stage.until_it_waits(run)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        answer = Answer(decision=decision, request_id="r0", value={}, scope="chat")
        with pytest.raises(InvalidRequest, match="scope: only an approval can be lasting"):
            await stage.supervisor.answer("ann", run.id, (answer,))
        assert (await stage.store.run("ann", run.id)).status == "waiting"
        assert await stage.store.permissions("ann", "chat") == []


async def test_a_question_cannot_be_allowed(tmp_path: Path) -> None:
    code = 'ask("Sure?", kind="approval", id="r0")'
    async with staged(tmp_path, write_agent(tmp_path / "it", code)) as stage:
        run = await stage.begin()
        await stage.until_it_waits(run)
        with pytest.raises(InvalidRequest, match="not about a tool call"):
            await stage.supervisor.answer("ann", run.id, (allows("r0"),))


async def test_an_input_that_is_not_known_cannot_be_allowed(tmp_path: Path) -> None:
    code = """
        emit("tool_use_start", {"id": "c0", "name": "delete"})
        ask("Delete a.txt?", kind="approval", tool_call_id="c0", id="r0")
    """
    async with staged(tmp_path, write_agent(tmp_path / "it", code)) as stage:
        run = await stage.begin()
        await stage.until_it_waits(run)
        with pytest.raises(InvalidRequest, match="the input of the call is not known"):
            await stage.supervisor.answer("ann", run.id, (allows("r0", "chat_input"),))


async def test_an_agent_that_is_being_stopped_gets_no_permission(tmp_path: Path) -> None:
    code = """
        turn = read_turn()
        emit_tool_use("delete", {}, id="c0")
        if turn.prompt == "first":
            ask("Sure?", kind="approval", tool_call_id="c0", id="r0")
            emit_done()
        else:
            try:
                emit_text("working")
                wait_for("nothing")
            except KeyboardInterrupt:
                names = [emit_input_request("approval", id="r0", tool_call_id="c0")]
                emit_paused(*names)
    """
    async with staged(tmp_path, write_agent(tmp_path / "it", code)) as stage:
        run = await stage.begin(submit("first"))
        await stage.until_it_waits(run)
        await stage.answered(run, allows("r0"))
        again = await stage.begin(submit("second", "m2"))
        await stage.store.beyond(again.id, 3)
        await stage.supervisor.stop("ann", again.id)
        log = await stage.until_it_ends(again)
        assert [e.id for e in log if isinstance(e, InputRequest)] == ["r0"]
        assert answers_in(log) == [("r0", False)]  # cancelled


# Limits


async def test_a_person_is_asked_again_after_many_automatic_answers(tmp_path: Path) -> None:
    code = """
        turn = read_turn()
        n = 0
        while True:
            emit_tool_use("delete", {}, id=f"c{n}")
            told = ask("Sure?", kind="approval", tool_call_id=f"c{n}", id=f"r{n}")
            emit_tool_result(f"c{n}", "")
            if told["decision"] == "denied":
                break
            n += 1
        emit_done()
    """
    async with staged(tmp_path, write_agent(tmp_path / "it", code)) as stage:
        run = await stage.begin()
        await stage.until_it_waits(run)
        await stage.supervisor.answer("ann", run.id, (allows("r0"),))
        log = await stage.until_it_waits(run)
        assert answers_in(log) == [("r0", False), *((f"r{n}", True) for n in range(1, MOST + 1))]
        denied = Answer(decision="denied", request_id=f"r{MOST + 1}")
        assert reason_of(await stage.answered(run, denied)) == "stop"
