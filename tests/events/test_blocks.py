"""Which block is open: the table of the documents, names, and the lines that stand in blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings

from mobox.events import (
    Custom,
    Done,
    Error,
    EventType,
    File,
    InputRequest,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    TodoCreate,
    TodoDone,
    TodoItem,
    TodoUpdate,
    ToolResult,
    ToolUseStart,
    Usage,
)
from mobox.events.blocks import BLOCK_OF, Block, Blocks, Line, Move, OpenBlock, line_of
from support.strategies import Events, events, runs

STATUS = Status(message="up")
NOTE = SubagentStart(agent="researcher")
PROCESSING = OpenBlock(Block.PROCESSING, "processing_1")
THINKING = OpenBlock(Block.THINKING, "thinking_1")
TEXT = OpenBlock(Block.TEXT, "text_1")


def blocks_after(*said: StreamEvent) -> Blocks:
    blocks = Blocks()
    for event in said:
        blocks.turn_to(event)
    return blocks


OPENED: dict[str, tuple[StreamEvent, OpenBlock]] = {
    "a status line": (STATUS, PROCESSING),
    "a plan": (TodoCreate(), PROCESSING),
    "a change of plan": (TodoUpdate(), PROCESSING),
    "a step done": (TodoDone(), PROCESSING),
    "a status line of a subagent": (Status(message="up", scope=("c",)), PROCESSING),
    "a thought": (Thinking(), THINKING),
    "a piece of a thought": (ThinkingDelta(delta="a"), THINKING),
    "a note on a subagent": (NOTE, THINKING),
    "a note on a subagent's end": (SubagentEnd(scope=("c",)), THINKING),
    "an answer": (Text(), TEXT),
    "a piece of an answer": (TextDelta(delta="a"), TEXT),
    "an answer of a subagent": (Text(scope=("c",)), TEXT._replace(scope=("c",))),
    "an answer with a name that we gave": (Text(id="text_7"), TEXT._replace(id="text_7")),
}


@pytest.mark.parametrize(("event", "opened"), OPENED.values(), ids=OPENED)
def test_an_event_opens_the_block_it_stands_in(event: StreamEvent, opened: OpenBlock) -> None:
    blocks = Blocks()
    assert blocks.turn_to(event) == Move(None, opened)
    assert blocks.open == opened
    assert blocks.turn_to(event) == Move()


KINDS: list[tuple[StreamEvent, OpenBlock]] = [
    (STATUS, PROCESSING),
    (Thinking(), THINKING),
    (Text(), TEXT),
]


@pytest.mark.parametrize(("second", "opened"), KINDS)
@pytest.mark.parametrize(("first", "closed"), KINDS)
def test_a_block_closes_the_others(
    first: StreamEvent, closed: OpenBlock, second: StreamEvent, opened: OpenBlock
) -> None:
    turn = blocks_after(first).turn_to(second)
    assert turn == (Move() if first == second else Move(closed, opened))


CLOSING: dict[str, StreamEvent] = {
    "a tool call": ToolUseStart(name="f"),
    "a turn of the root": StepStart(),
    "a file": File(media_type="image/png"),
    "an event of the application": Custom(name="chart"),
    "a question": InputRequest(),
    "the end": Done(reason="stop"),
    "an answer with a name": Text(id="m"),
    "a thought with a name": Thinking(id="m"),
    "a name that is ours for another kind": Thinking(id="text_1"),
    "a name that only begins like ours": Text(id="text_1a"),
    "a name with a number that we never count to": Text(id="text_" + "9" * 5000),
    "a name with no number": Text(id="text_0"),
}


@pytest.mark.parametrize("event", CLOSING.values(), ids=CLOSING)
@pytest.mark.parametrize(("first", "closed"), KINDS)
def test_some_events_close_every_block(
    first: StreamEvent, closed: OpenBlock, event: StreamEvent
) -> None:
    blocks = blocks_after(first)
    assert blocks.turn_to(event) == Move(closed, None)
    assert blocks.open is None
    assert blocks.turn_to(event) == Move()


INDIFFERENT: dict[str, StreamEvent] = {
    "a pulse of progress": Status(message="12 %", kind="progress"),
    "a preparation of the server": Status(message="Starting it", kind="preparation"),
    "an error": Error(message="no"),
    "tokens": Usage(),
    "a result": ToolResult(),
    "the end of a step": StepEnd(),
    "a turn of a subagent": StepStart(scope=("c",)),
    "a piece of an answer with a name": TextDelta(id="m", delta="a"),
    "a piece of a thought with a name": ThinkingDelta(id="m", delta="a"),
    "the end of an answer with a name": TextEnd(id="m"),
    "the end of another of ours": ThinkingEnd(id="thinking_7"),
}


@pytest.mark.parametrize("event", INDIFFERENT.values(), ids=INDIFFERENT)
@pytest.mark.parametrize(("first", "still"), KINDS)
def test_some_events_leave_the_block_open(
    first: StreamEvent, still: OpenBlock, event: StreamEvent
) -> None:
    blocks = blocks_after(first)
    assert blocks.turn_to(event) == Move()
    assert blocks.open == still


STEPS: dict[str, StepStart] = {
    "a task": StepStart(kind="task"),
    "a compaction": StepStart(kind="compaction"),
    "a node": StepStart(kind="node"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize(("first", "open_before"), KINDS)
def test_a_step_ends_text_and_thinking_but_not_processing(
    first: StreamEvent, open_before: OpenBlock, step: StepStart
) -> None:
    blocks = blocks_after(first)
    if open_before.block is Block.PROCESSING:
        assert blocks.turn_to(step) == Move()
    else:
        assert blocks.turn_to(step) == Move(open_before, None)
    assert blocks.turn_to(step) == Move()


@pytest.mark.parametrize(
    ("speaker", "stepping", "ends"),
    [
        ((), (), True),
        (("a",), (), True),
        (("a", "b"), ("a",), True),
        (("a",), ("a",), True),
        ((), ("a",), False),
        (("b",), ("a",), False),
        (("a",), ("a", "b"), False),
    ],
)
@pytest.mark.parametrize("kind", ["turn", "task"])
def test_step_ends_blocks_of_its_agent_and_those_below(
    speaker: tuple[str, ...], stepping: tuple[str, ...], ends: bool, kind: Literal["turn", "task"]
) -> None:
    blocks = blocks_after(TextDelta(scope=speaker, delta="a"))
    blocks.turn_to(StepStart(scope=stepping, kind=kind))
    assert (blocks.open is None) == ends


ENDS: dict[str, tuple[StreamEvent, StreamEvent, OpenBlock | None]] = {
    "its end": (Text(), TextEnd(id="text_1"), None),
    "an end without a name": (Thinking(), ThinkingEnd(), None),
    "the end of a block that is only a note": (NOTE, ThinkingEnd(id="thinking_1"), None),
    "an end of the other kind": (Text(), ThinkingEnd(), TEXT),
    "an end where nothing is open": (Error(message="no"), TextEnd(), None),
}


@pytest.mark.parametrize(("first", "end", "still"), ENDS.values(), ids=ENDS)
def test_an_end_closes_its_own_block(
    first: StreamEvent, end: StreamEvent, still: OpenBlock | None
) -> None:
    assert blocks_after(first, end).open == still


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ([], "text_1"),
        ([Text()], "text_1"),
        ([Text(), STATUS], "text_2"),
        ([Text(id="text_7")], "text_7"),
        ([Text(id="text_7"), STATUS], "text_8"),
        ([Text(id="text_7"), Text(id="text_2"), STATUS], "text_8"),
        ([Text(id="text_7", scope=("c",))], "text_8"),
        ([Text(id="m")], "text_1"),
        ([Thinking(id="thinking_7"), STATUS], "text_1"),
    ],
)
def test_names_are_counted_on_from_the_highest_of_their_kind(said: Events, name: str) -> None:
    blocks = blocks_after(*said)
    assert blocks.name_for(Text()) == blocks.name_for(TextDelta(delta="a")) == name


def test_looking_up_a_name_opens_nothing() -> None:
    blocks = Blocks()
    assert blocks.name_for(Thinking()) == blocks.name_for(Thinking()) == "thinking_1"
    assert blocks.open is None


def test_concurrent_agents_have_a_block_each() -> None:
    said = [TextDelta(scope=("a",), delta="1"), TextDelta(scope=("b",), delta="2")]
    assert blocks_after(*said).open == OpenBlock(Block.TEXT, "text_2", ("b",))


def test_a_block_stays_with_the_agent_that_opened_it() -> None:
    said = [Text(id="text_1", scope=("a",)), TextDelta(id="text_1", delta="1")]
    assert blocks_after(*said).open == OpenBlock(Block.TEXT, "text_1", ("a",))


def test_a_thought_goes_on_in_the_block_of_the_notes() -> None:
    blocks = blocks_after(NOTE)
    assert blocks.turn_to(Thinking(id=blocks.name_for(Thinking()))) == Move()


@settings(max_examples=200)
@given(events() | runs())
def test_turns_are_a_chain_of_one_block_after_the_other(said: Events) -> None:
    blocks = Blocks()
    turns = [turn for event in said if (turn := blocks.turn_to(event)) != Move()]
    assert all(turn.closed == before.opened for before, turn in pairwise(turns))
    assert blocks.open == (turns[-1].opened if turns else None)


@settings(max_examples=200)
@given(events() | runs())
def test_only_events_of_the_table_turn(said: Events) -> None:
    blocks = Blocks()
    for event in said:
        turn = blocks.turn_to(event)
        assert turn == Move() or event.type in BLOCK_OF
        assert turn.opened is None or turn.opened.block is BLOCK_OF[event.type]


def test_every_event_with_content_has_a_row() -> None:
    said = {name for name in EventType if name.startswith(("text", "thinking", "todo", "subagent"))}
    assert said <= BLOCK_OF.keys()


LOOK = TodoItem(content="look", status="in_progress", active_form="looking")
READ = TodoItem(content="read", status="in_progress")
FOUND = TodoItem(content="find", status="completed")

LINES: dict[str, StreamEvent] = {
    "up": STATUS,
    "Planned 2 steps: find; look": TodoCreate(items=(FOUND, LOOK)),
    "Planned 1 step: look": TodoCreate(items=(LOOK,)),
    "Planned 0 steps": TodoCreate(),
    "1 of 3 steps done: looking; read": TodoUpdate(items=(FOUND, LOOK, READ)),
    "1 of 2 steps done: looking": TodoDone(items=(FOUND, LOOK)),
    "1 of 1 step done": TodoUpdate(items=(FOUND,)),
    "1 of 1 step done: finished find": TodoDone(items=(FOUND,), item="find"),
    "researcher started": NOTE,
    "researcher started: look": SubagentStart(agent="researcher", task="look"),
    "agent finished": SubagentEnd(),
    "researcher finished: seen": SubagentEnd(agent="researcher", summary="seen"),
    "agent failed: blind": SubagentEnd(status="error", summary="blind"),
    "agent was denied": SubagentEnd(status="denied"),
    "agent was interrupted": SubagentEnd(status="interrupted"),
    "agent ended": SubagentEnd(status="unknown"),
    "": Text(content="an answer is its own text"),
}


@pytest.mark.parametrize(("line", "event"), LINES.items())
def test_an_event_reads_like_a_line_in_its_block(line: str, event: StreamEvent) -> None:
    assert line_of(event) == line


def test_a_line_stands_in_the_block_that_is_open_for_it_and_a_pulse_in_none() -> None:
    blocks = Blocks()
    for event, line in (
        (STATUS, Line("processing_1", "up", "\n")),
        (NOTE, Line("thinking_1", "researcher started", "\n\n")),
        (Status(message="still", kind="progress"), None),
        (Status(message="Starting it", kind="preparation"), None),
    ):
        blocks.turn_to(event)
        assert blocks.line(event) == line
