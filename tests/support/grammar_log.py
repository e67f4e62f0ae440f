"""What a log may look like, written independently of the lifecycle that makes it so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from mobox.events import (
    Done,
    InputRequest,
    Paused,
    Raw,
    Result,
    Retract,
    Start,
    State,
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
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)

Rule = Callable[["Grammar", Any], None]

OPENED_BY: dict[type[StreamEvent], type[StreamEvent]] = {
    TextDelta: Text,
    TextEnd: Text,
    ThinkingDelta: Thinking,
    ThinkingEnd: Thinking,
    StepEnd: StepStart,
    SubagentEnd: SubagentStart,
}


_SAYS_NOTHING_NEW = (
    *(Raw, Result, State, Status, Usage),
    *(StepEnd, SubagentEnd, TextEnd, ThinkingEnd, ToolUseEnd),
)


def legal_log(log: Sequence[StreamEvent]) -> None:
    """Fail unless `log` is that of a run which has ended, or waits for an answer."""
    assert log, "a log is never empty"
    grammar = Grammar()
    assert isinstance(log[0], Start), f"begins with {log[0]}"
    for event in log:
        assert not grammar.done, f"{event} after {grammar.done}"
        grammar.RULES.get(type(event), Grammar.anything)(grammar, event)
    assert grammar.started == 1
    last_word = next(event for event in reversed(log) if not isinstance(event, _SAYS_NOTHING_NEW))
    assert grammar.done or isinstance(last_word, Paused), f"ends with {log[-1]}"


class Grammar:
    """How far a log has been read."""

    def __init__(self) -> None:
        self.started = 0
        self.done: Done | None = None
        self.blocks: dict[str, type[StreamEvent]] = {}
        self.retracted: set[str] = set()
        self.spans: set[tuple[type[StreamEvent], str]] = set()
        self.server_calls: set[str] = set()
        self.streaming: set[str] = set()  # calls by what came last: their start or input,
        self.complete: set[str] = set()  # their end,
        self.interrupted: set[str] = set()  # the news that there will be no result,
        self.answered: set[str] = set()  # or a result

    def anything(self, event: StreamEvent) -> None:
        """No rule is about it."""

    def start(self, event: Start) -> None:
        self.started += 1

    def end(self, event: Done) -> None:
        self.done = event
        assert not self.blocks, f"{self.blocks} never ended"
        assert not self.spans, f"{self.spans} never ended"
        assert not self.streaming, f"the input of {self.streaming} never ended"
        handed_over = self.complete - self.server_calls if event.reason == "tool" else set()
        assert self.complete == handed_over, f"no result for {self.complete - handed_over}"

    def open_block(self, event: Text | Thinking) -> None:
        assert event.id, f"{event} has no id"
        assert event.id not in self.blocks, f"{event} opens twice"
        assert event.id not in self.retracted, f"{event} has the id of one that is hidden"
        self.blocks[event.id] = type(event)

    def in_block(self, event: TextDelta | ThinkingDelta) -> None:
        assert event.id, f"{event} has no id"
        assert self.blocks.get(event.id) is OPENED_BY[type(event)], f"{event} is in no open block"

    def end_block(self, event: TextEnd | ThinkingEnd) -> None:
        assert event.id, f"{event} has no id"
        assert self.blocks.pop(event.id, None) is OPENED_BY[type(event)], f"{event} ends nothing"

    def start_span(self, event: StepStart | SubagentStart) -> None:
        assert event.id, f"{event} has no id"
        assert (type(event), event.id) not in self.spans, f"{event} starts twice"
        self.spans.add((type(event), event.id))

    def end_span(self, event: StepEnd | SubagentEnd) -> None:
        assert event.id, f"{event} has no id"
        assert (OPENED_BY[type(event)], event.id) in self.spans, f"{event} ends nothing"
        self.spans.remove((OPENED_BY[type(event)], event.id))

    def start_call(self, event: ToolUseStart) -> None:
        assert event.id, f"{event} has no id"
        known = self.streaming | self.complete | self.interrupted | self.answered
        assert event.id not in known, f"{event} repeats an id"
        self.streaming.add(event.id)
        if event.server:
            self.server_calls.add(event.id)

    def add_input(self, event: ToolUseDelta) -> None:
        assert event.id in self.streaming, f"{event} comes too late, or too early"

    def end_input(self, event: ToolUseEnd) -> None:
        assert event.id in self.streaming, f"{event} ends no input"
        self.streaming.remove(event.id)
        self.complete.add(event.id)

    def add_result(self, event: ToolResult) -> None:
        assert event.id in self.complete | self.interrupted | self.answered, f"{event} is too early"
        if event.partial:
            return
        self.complete.discard(event.id)
        if event.status != "interrupted":
            self.answered.add(event.id)
        elif event.id not in self.answered:
            self.interrupted.add(event.id)

    def ask(self, event: InputRequest) -> None:
        assert event.id, f"{event} has no id"
        known = self.complete | self.interrupted | self.answered
        assert not event.tool_call_id or event.tool_call_id in known, f"{event} is too early"

    def retract(self, event: Retract) -> None:
        listed = set(event.blocks)
        assert not listed & self.answered, f"{event} takes back a result"
        assert not listed & self.retracted, f"{event} takes back twice"
        self.retracted |= listed
        still_open = self.blocks.keys() | self.streaming | self.complete
        assert not listed & still_open, f"{event} takes back what is still open"

    RULES: ClassVar[dict[type[StreamEvent], Rule]] = {
        Start: start,
        Done: end,
        Text: open_block,
        TextDelta: in_block,
        TextEnd: end_block,
        Thinking: open_block,
        ThinkingDelta: in_block,
        ThinkingEnd: end_block,
        StepStart: start_span,
        StepEnd: end_span,
        SubagentStart: start_span,
        SubagentEnd: end_span,
        ToolUseStart: start_call,
        ToolUseDelta: add_input,
        ToolUseEnd: end_input,
        ToolResult: add_result,
        InputRequest: ask,
        Retract: retract,
    }
