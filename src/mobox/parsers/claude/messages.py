"""Parses the Messages API's stream: messages, one after the other, made of content blocks.

Rule 1: a message is a turn of the agent's loop (STEP); START and DONE belong to the run.
Rule 2: usage in message_delta is cumulative and omits the fields of message_start.
Rule 3: a message without a stop reason was interrupted. If another follows it in the same turn, it
        is being sent again (RETRACT).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msgspec import convert
from msgspec.structs import replace

from mobox.events import (
    JSON,
    Events,
    Retract,
    Status,
    StepEnd,
    StepStart,
)
from mobox.events.names import IdAllocator
from mobox.parsers.claude import wire
from mobox.parsers.claude.content import VENDOR, Content
from mobox.parsers.claude.token_usage import usage_of
from mobox.parsers.values import failure, parse_or_raw

_COUNTED = frozenset(wire.Usage.__struct_fields__)


class Messages:
    """The messages of one agent, in the order in which they are streamed."""

    def __init__(self, names: IdAllocator, scope: tuple[str, ...] = ()) -> None:
        self.stop_reason: str | None = None
        """Why the last message stopped; `None` while it has not."""
        self.streaming = False
        """A message has started and not stopped."""
        self._names = names
        self._scope = scope
        self._message: str | None = None
        self._count = 0
        self.content = Content(f"{names.prefix}message", scope)
        self._usage: dict[str, JSON] = {}
        self._model: str | None = None
        self._ending: dict[str, JSON] = {}
        self._interrupted_blocks: tuple[str, ...] = ()  # of an interrupted message
        self._initial_blocks: dict[int, list[str]] = {}  # in the start of the message, by index

    def read(self, line: wire.Line) -> Events:
        """Parse one line."""
        return self.LINES[type(line)](self, line)

    def read_whole(self, message: wire.WholeMessage) -> Events:
        """Parse a complete message, or one with a block per line under the same id."""
        events: Events = []
        if self.streaming or message.id is None or message.id != self._message:
            events += self._begin(message)
            self.streaming = False
        for block in message.content:
            events += self._whole_block(block, len(self.content.block_ids))
        return events

    def _whole_block(self, block: dict[str, JSON], index: int) -> Events:
        """One block of a complete message; the others are parsed even if it is not recognized."""

        def read() -> Events:
            start = self.content.start(wire.ContentBlockStart(index, block))
            return [*start, *self.content.stop(wire.ContentBlockStop(index))]

        return parse_or_raw(read, block, self._scope)

    def complete(self, message: wire.WholeMessage) -> Events:
        """A streamed message, repeated complete: its tools may run from here on."""
        return self.content.complete(message.content)

    def end_turn(self) -> Events:
        """The agent ended its turn: an interrupted message will not be sent again."""
        self._interrupted_blocks = ()
        return self._end_message("ok")

    def close(self) -> Events:
        """The stream ended: end the tool inputs that were being streamed."""
        return self.content.close()

    # Messages

    def _message_start(self, line: wire.MessageStart) -> Events:
        message, events = line.message, self._begin(line.message)
        for index, block in _blocks_in(message.content):
            before = len(self.content.block_ids)
            events += self._whole_block(block, index)
            self._initial_blocks[index] = self.content.block_ids[before:]
        reason = message.stop_reason
        self.stop_reason = reason if isinstance(reason, str) else None
        self._note_end(
            stop_sequence=message.stop_sequence,
            stop_details=message.stop_details,
        )
        return [*events, *self._explanation(message.stop_details)]

    def _begin(self, message: wire.Message) -> Events:
        if self.streaming and self.stop_reason is None and message.id != self._message:
            self._interrupted_blocks = tuple(self.content.block_ids)
        before = self._end_message("interrupted" if self.streaming else "ok")
        before += self._retract()
        self.streaming = True
        self._count += 1
        # A message may start twice under one id, if streams are concatenated.
        self._message = self._names.unique(message.id, "message")
        self._model = message.model
        self._usage, self._ending, self.stop_reason, self._initial_blocks = {}, {}, None, {}
        self.content.begin(self._message)
        step = StepStart(id=self._message, scope=self._scope, kind="turn", number=self._count)
        return [*before, step, *self._add_usage(message.usage)]

    def _message_delta(self, line: wire.MessageDelta) -> Events:
        change, used = line.delta, self._add_usage(line.usage)
        self.stop_reason = change.stop_reason or self.stop_reason
        self._note_end(
            stop_sequence=change.stop_sequence,
            stop_details=change.stop_details,
            container=change.container,
            context_management=line.context_management,
        )
        return [*used, *self._explanation(change.stop_details)]

    def _note_end(self, **about: JSON) -> None:
        self._ending |= {name: value for name, value in about.items() if value is not None}

    def _message_stop(self, _line: wire.MessageStop) -> Events:
        if self.stop_reason is not None:
            return self._end_message("ok")
        self._interrupted_blocks = tuple(self.content.block_ids)
        return self._end_message("interrupted")

    def _retract(self) -> Events:
        """A message without a stop reason is sent again under another id."""
        blocks, self._interrupted_blocks = self._interrupted_blocks, ()
        return [Retract(scope=self._scope, blocks=blocks, reason="retry")] if blocks else []

    def _end_message(self, status: Any) -> Events:
        if self._message is None:
            return []
        events = self.content.end_blocks()
        provider = {VENDOR: self._ending} if self._ending else None
        end = StepEnd(
            id=self._message,
            scope=self._scope,
            status=status,
            reason=self.stop_reason,
            provider=provider,
        )
        self._message, self.streaming = None, False
        return [*events, end]

    def _explanation(self, details: JSON) -> Events:
        """A refusal may have an explanation."""
        explanation = details.get("explanation") if isinstance(details, dict) else None
        if not isinstance(explanation, str):
            return []
        return [Status(scope=self._scope, message=explanation, kind="notice")]

    def _add_usage(self, usage: JSON) -> Events:
        return parse_or_raw(lambda: self._parse_usage(usage), usage, self._scope) if usage else []

    def _parse_usage(self, usage: JSON) -> Events:
        counts = {k: v for k, v in convert(usage, dict).items() if v is not None}
        summed = {**self._usage, **counts}
        counted = usage_of(convert(summed, wire.Usage))
        self._usage = summed
        rest = {name: summed[name] for name in summed if name not in _COUNTED}
        return [
            replace(
                counted,
                id=self._message,
                scope=self._scope,
                model=self._model,
                provider={VENDOR: rest} if rest else None,
            )
        ]

    # The rest

    def _error(self, line: wire.Error) -> Events:
        code = line.error.type
        provider = {VENDOR: {"request_id": line.request_id}} if line.request_id else None
        return [
            replace(
                failure(line.error.message or code or "The API reported an error.", code),
                scope=self._scope,
                provider=provider,
            )
        ]

    def _block_start(self, line: wire.ContentBlockStart) -> Events:
        given = self._initial_blocks.pop(line.index, None)
        if not given:
            return self.content.start(line)
        # The start of the message had this block complete, and it is streamed as well.
        again = Retract(scope=self._scope, blocks=tuple(given), reason="retry")
        return [again, *self.content.start(line)]

    LINES: ClassVar[dict[type[wire.Line], Callable[[Messages, Any], Events]]] = {
        wire.ContentBlockDelta: lambda messages, line: messages.content.delta(line),
        wire.ContentBlockStart: _block_start,
        wire.ContentBlockStop: lambda messages, line: messages.content.stop(line),
        wire.MessageStart: _message_start,
        wire.MessageDelta: _message_delta,
        wire.MessageStop: _message_stop,
        wire.Ping: lambda _messages, _line: [],
        wire.Error: _error,
    }


def _blocks_in(content: JSON) -> list[tuple[int, JSON]]:
    """The non-empty blocks, with their indexes; content may also be a text."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return [(index, block) for index, block in enumerate(blocks) if not _is_empty(block)]


def _is_empty(block: JSON) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and not block.get("text")
