"""What a page brings along: the agent is told, at once and later, and can call its tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox.capture.catalog import Agent
from mobox.events import InputRequest, InputResponse, StreamEvent, ToolResult, ToolUseStart
from mobox.events.turn import Answer, ContextItem, Frontend, FrontendTool
from mobox.settings import Settings
from mobox.storage.log import ClientRequest
from supervisor.stage import (
    IMPATIENT,
    QUIET,
    both_stores,
    reason_of,
    staged,
    submit,
    text_of,
    url_of,
    write_agent,
)

HELD_OR_NOT = pytest.mark.parametrize("limits", [QUIET, IMPATIENT], ids=["held", "let go"])
"""The process that called is there when the result comes, or it is not."""

PAGE = Frontend(
    tools=(FrontendTool(name="locate", description="Where?", parameters={"type": "object"}),),
    context=(ContextItem(description="the page", value="/maps"),),
    state={"count": 1},
    instructions=("Be brief.",),
    properties={"theme": "dark"},
)
CALLED = replace(submit(), name="r1", frontend=PAGE)
PLACE = Answer(decision="answered", tool_call_id="call_1", value={"lat": 47})


pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture
def caller(tmp_path: Path) -> Agent:
    """Calls a tool of the page if it has one, and tells what it knows of the page."""
    code = """
        turn = read_turn()
        if turn.tool("locate"):
            told = call_frontend("locate", {"fast": True}, id="call_1", resume=True)
            emit_text(f"{told['decision']} {told['value'] or told['reason']}")
        page = turn.frontend
        known = [turn.state, page["context"], page["instructions"], page["properties"]]
        emit_text("".join(f" {each}" for each in known))
        emit_done()
    """
    return write_agent(tmp_path / "caller", code)


def results_in(events: list[StreamEvent]) -> list[ToolResult]:
    return [event for event in events if isinstance(event, ToolResult)]


@HELD_OR_NOT
@both_stores
async def test_a_tool_of_the_page_is_called(
    tmp_path: Path, caller: Agent, limits: Settings, store: str
) -> None:
    url = url_of(store, tmp_path)
    async with staged(tmp_path, caller, limits=limits, url=url) as stage:
        begun = await stage.begin(CALLED)
        asked = await stage.until_it_waits(begun)
        assert [e.frontend for e in asked if isinstance(e, ToolUseStart)] == [True]
        assert [(e.kind, e.tool_call_id) for e in asked if isinstance(e, InputRequest)] == [
            ("tool", "call_1")
        ]
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        later = ClientRequest(name="r2", frontend=replace(PAGE, state={"count": 2}))
        continued = await stage.supervisor.answer("ann", begun.id, (PLACE,), later)
        events = await stage.until_it_ends(begun)
        assert text_of(events) == (
            "answered {'lat': 47} {'count': 2} [{'description': 'the page', 'value': '/maps'}]"
            " ['Be brief.'] {'theme': 'dark'}"
        )
        assert results_in(events) == [ToolResult(id="call_1", output={"lat": 47})]
        assert isinstance(events[continued.after], InputResponse)
        named = await stage.store.named("ann", "chat", "r2")
        assert (named.run.id, named.asking.after) == (begun.id, continued.after)


@HELD_OR_NOT
async def test_who_answers_by_other_means_leaves_the_page_as_it_was(
    tmp_path: Path, caller: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, caller, limits=limits) as stage:
        begun = await stage.begin(CALLED)
        await stage.until_it_waits(begun)
        failed = Answer(decision="denied", tool_call_id="call_1", reason="no GPS")
        events = await stage.answered(begun, failed)
        assert text_of(events).startswith("denied no GPS {'count': 1}")
        assert results_in(events) == [ToolResult(id="call_1", output="no GPS", status="error")]


async def test_a_page_that_tells_nothing_of_itself_has_nothing(
    tmp_path: Path, caller: Agent
) -> None:
    async with staged(tmp_path, caller) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert text_of(events) == " None [] [] {}"


@HELD_OR_NOT
async def test_a_result_that_comes_with_a_new_message_is_kept(
    tmp_path: Path, caller: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, caller, limits=limits) as stage:
        first = await stage.begin(CALLED)
        await stage.until_it_waits(first)
        if limits is IMPATIENT:
            await stage.until_nothing_runs()
        second = await stage.begin(replace(submit("next", "m2"), answers=(PLACE,)))
        await stage.until_it_ends(second)
        events = await stage.until_it_ends(first)
        assert reason_of(events) == "cancelled"
        assert [e.decision for e in events if isinstance(e, InputResponse)] == ["answered"]
        assert results_in(events) == [ToolResult(id="call_1", output={"lat": 47})]


@HELD_OR_NOT
async def test_a_call_that_nobody_answered_is_interrupted(
    tmp_path: Path, caller: Agent, limits: Settings
) -> None:
    async with staged(tmp_path, caller, limits=limits) as stage:
        first = await stage.begin(CALLED)
        await stage.until_it_waits(first)
        await stage.until_it_ends(await stage.begin(submit("next", "m2")))
        events = await stage.until_it_ends(first)
        assert [e.decision for e in events if isinstance(e, InputResponse)] == ["cancelled"]
        assert [each.status for each in results_in(events)] == ["interrupted"]
