"""Profile `document`: the fourteen frames of the event-mapping document, with its own keys.

For frontends that were written to that document. No real AI SDK client reads it: they refuse
`id` and `name` on tools, `error` on errors, `usage` on data, and `{"type": "done"}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from mobox.events import (
    UNKNOWN_TOOL,
    Done,
    Error,
    EventType,
    LogEntry,
    Raw,
    Result,
    Start,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.blocks import BETWEEN_THOUGHTS, LINE_EVENTS, Block, Blocks
from mobox.events.transcript import HeldErrors
from mobox.events.usage import UsageTotal
from mobox.formatters.ai_sdk.chunks import Chunks, chunk, usage_data
from mobox.formatters.values import FAILED_OUTCOMES, call_error, run_failure


class DocumentFormatter:
    """Writes one message. Blocks are numbered as the document does: `text_1`, `thinking_1`."""

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id
        self._has_started = False
        self._blocks = Blocks()
        self._count: Counter[Block] = Counter()
        self._open: dict[str | None, tuple[Block, str]] = {}
        self._empty: set[str | None] = set()
        self._tools: dict[str | None, str] = {}
        self._usage = UsageTotal()
        self._errors = HeldErrors()

    def format(self, entry: LogEntry) -> Chunks:
        """The frames of `entry`; events without a frame in the document are left out."""
        event = entry.event
        chunks = self._turn_to(event)
        writer = self.WRITERS.get(event.type)
        return chunks + writer(self, event) if writer is not None else chunks

    def pause(self) -> Chunks:
        """The run waits for an answer: end the response."""
        return [*self._close_all(), chunk("finish"), chunk("done")]

    def resume(self) -> Chunks:
        """Start a response in the middle of the message."""
        return [self._start_chunk(), *[_start(*opened) for opened in self._open.values()]]

    def _start_chunk(self) -> bytes:
        return chunk("start", messageId=self._message_id)

    def _start(self, _event: Start | Raw) -> Chunks:
        begins, self._has_started = not self._has_started, True
        return [self._start_chunk()] if begins else []

    def _done(self, event: Done) -> Chunks:
        fatal, notices = self._errors.release(event.reason)
        lines = [c for notice in notices for c in self._turn_to(notice) + self._line(notice)]
        failure = run_failure(event.reason, fatal)
        errors = [chunk("error", error=failure[0])] if failure is not None else []
        return [*lines, *self._close_all(), *errors, chunk("finish"), chunk("done")]

    def _error(self, event: Error) -> Chunks:
        self._errors.hold(event)
        return []

    # Blocks

    def _turn_to(self, event: StreamEvent) -> Chunks:
        move = self._blocks.turn_to(event)
        chunks = self._close(move.closed.id) if move.closed is not None else []
        if move.opened is not None and event.type in LINE_EVENTS:
            chunks += self._begin(move.opened.id, move.opened.block)
        return chunks

    def _begin(self, name: str | None, block: Block) -> Chunks:
        self._count[block] += 1
        self._open[name] = (block, f"{block}_{self._count[block]}")
        self._empty.add(name)
        return [_start(*self._open[name])]

    def _close(self, name: str | None) -> Chunks:
        if name not in self._open:
            return []
        block, block_id = self._open.pop(name)
        return [chunk(f"{_KIND[block]}-end", id=block_id)]

    def _close_all(self) -> Chunks:
        return [end for name in list(self._open) for end in self._close(name)]

    def _write(self, name: str | None, text: str, between: str = "") -> Chunks:
        if not text:
            return []
        block, block_id = self._open[name]
        between = "" if name in self._empty else between
        self._empty.discard(name)
        return [chunk(f"{_KIND[block]}-delta", id=block_id, delta=between + text)]

    def _line(self, event: StreamEvent) -> Chunks:
        line = self._blocks.line(event)
        return self._write(*line) if line is not None else []

    def _text(self, event: Text) -> Chunks:
        block = Block.THINKING if event.scope else Block.TEXT
        return self._begin(event.id, block) + self._write(event.id, event.content)

    def _thinking(self, event: Thinking) -> Chunks:
        begin = [] if event.id in self._open else self._begin(event.id, Block.THINKING)
        return begin + self._write(event.id, event.content, BETWEEN_THOUGHTS)

    def _delta(self, event: TextDelta | ThinkingDelta) -> Chunks:
        if event.id not in self._open:  # its start is RAW: logged by a later version
            is_answer = isinstance(event, TextDelta) and not event.scope
            begin = self._begin(event.id, Block.TEXT if is_answer else Block.THINKING)
            return begin + self._write(event.id, event.delta)
        return self._write(event.id, event.delta)

    def _end(self, event: TextEnd | ThinkingEnd) -> Chunks:
        return self._close(event.id)

    # Tools and usage

    def _start_tool(self, event: ToolUseStart) -> Chunks:
        self._tools[event.id] = event.name
        return [chunk("tool-input-start", id=event.id, name=event.name)]

    def _end_tool(self, event: ToolUseEnd) -> Chunks:
        value = event.input if event.invalid is None else event.invalid
        about = {"id": event.id, "name": self._tools.get(event.id, UNKNOWN_TOOL)}
        return [chunk("tool-input-available", {"input": {} if value is None else value}, **about)]

    def _result(self, event: ToolResult) -> Chunks:
        output = {"error": call_error(event)} if event.status in FAILED_OUTCOMES else event.output
        return [chunk("tool-output-available", {"output": output}, id=event.id)]

    def _use(self, event: Usage | Result) -> Chunks:
        self._usage.add(event)
        totals = self._usage.totals
        if totals is None:
            return []
        usage = usage_data(totals)
        total = {"isTotal": True} if usage.pop("isTotal") else {}
        return [chunk("data-usage", {"usage": usage, **total})]

    WRITERS: ClassVar[dict[EventType, Callable[[DocumentFormatter, Any], Chunks]]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.ERROR: _error,
        **dict.fromkeys(LINE_EVENTS, _line),
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _delta,
        EventType.TEXT_END: _end,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _delta,
        EventType.THINKING_END: _end,
        EventType.TOOL_USE_START: _start_tool,
        EventType.TOOL_USE_END: _end_tool,
        EventType.TOOL_RESULT: _result,
        EventType.USAGE: _use,
        EventType.RESULT: _use,
        EventType.RAW: _start,
    }


_KIND = {Block.TEXT: "text", Block.THINKING: "reasoning", Block.PROCESSING: "reasoning"}


def _start(block: Block, block_id: str) -> bytes:
    metadata = None if block is Block.TEXT else {"mobox": {"variant": block.value}}
    return chunk(f"{_KIND[block]}-start", id=block_id, providerMetadata=metadata)
