"""Parses chat completions: chunks of a message, from OpenAI and compatible APIs.

The older completions (`text_completion`), whose choices are plain text, are read the same way.

Rule 1: only the next block or the finish reason ends a block.
Rule 2: choice 0 is the message; the others are kept as RAW.
Rule 3: a call is identified by its index, its id and name come once; some providers omit the index,
        others give each call index 0 and an id of its own.
Rule 4: a message ends with its finish reason. Its usage comes later, and some providers give every
        chunk another id: only content after the end starts another message.
Rule 5: an answer that was interrupted by an error and starts again is sent again (RETRACT).
Rule 6: an invalid field of a delta, a part or a usage is RAW; the other fields are parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from msgspec import ValidationError, convert

from mobox.errors import UnrecognizedLine
from mobox.events import (
    JSON,
    Done,
    Events,
    Raw,
    Retract,
    Status,
    StepEnd,
    StepStart,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
)
from mobox.parsers.openai import wire
from mobox.parsers.openai.chat_calls import ChatCalls
from mobox.parsers.openai.parts import Extras
from mobox.parsers.openai.token_usage import VENDOR, done_of, error_of, used
from mobox.parsers.openai.wire import Names
from mobox.parsers.values import as_object, parse_or_raw

_SILENT = {"role", "channel", "reasoning_details"}


class Chat:
    """The messages of one run, one after the other."""

    def __init__(self, names: Names) -> None:
        self.model: str | None = None
        self._names = names
        self._message: str | None = None
        self._chunk_id: str | None = None
        self._count = 0
        self._open: tuple[type[StreamEvent], str] | None = None
        self._blocks: list[str] = []
        self._calls = ChatCalls(self._names)
        self._extras = Extras(self._names)
        self._finish: str | None = None
        self._refused = False
        self._broken = False
        self._noted = False
        self._thought: list[dict[str, JSON]] = []  # details with more than text
        self._ending: dict[str, JSON] = {}

    @property
    def done(self) -> Done | None:
        """How the last message ended; `None` while it has not."""
        if self._finish is None:
            return None
        return done_of(self._finish, called=self._calls.any, refused=self._refused)

    def read(self, raw: dict[str, JSON]) -> Events:
        chunk = convert(raw, wire.Chunk)
        self.model = chunk.model or self.model
        events: Events = []
        for choice in chunk.choices:
            events += self._choice(chunk, choice) if not choice.index else self._other(raw, choice)
        if chunk.prompt_filter_results is not None:
            self._ending["prompt_filter_results"] = chunk.prompt_filter_results
        if chunk.search_results or chunk.web_search or chunk.citations:
            events += self._extras.pages(chunk, self._block_for_sources())
        if usage := chunk.usage or as_object(chunk.x_groq).get("usage"):
            about = {"model": self.model, "service_tier": chunk.service_tier}
            events += used(usage, (), id=self._message, **about)
        if chunk.error is not None:
            events += self.fail(chunk.error)
        return events

    def read_delta(self, chunk: wire.DeltaChunk) -> Events | None:
        """`read` for a chunk that continues the open block; `None` if it does anything else."""
        if self._message is None or self._finish is not None or self._broken:
            return None
        delta = chunk.choices[0].delta
        text, thought = delta.content, delta.reasoning_content or delta.reasoning
        events: Events | None = None
        if delta.tool_calls is not None:
            (piece,) = delta.tool_calls
            if self._open is None and not text and not thought:
                events = self._calls.add_input(piece.index, piece.function.arguments)
        elif self._open is not None and not (text and thought):
            opening, name = self._open
            if text and opening is Text:
                events = [TextDelta(id=name, delta=text)]
            elif thought and opening is Thinking:
                events = [ThinkingDelta(id=name, delta=thought)]
        if events is not None:
            self.model = chunk.model or self.model
        return events

    def fail(self, problem: JSON) -> Events:
        """The provider reports an error in place of a chunk, or within one."""
        self.break_off()
        return [error_of(problem)]

    def break_off(self) -> None:
        """The message was interrupted; the next one sends it again."""
        self._broken = True

    def close(self) -> Events:
        """The stream ended: emit what was held back."""
        return self._calls.begin_held()

    # The message

    def _other(self, raw: dict[str, JSON], choice: wire.Choice) -> Events:
        kept: Events = [Raw(raw=raw, source=f"choice {choice.index}")]
        if self._noted:
            return kept
        self._noted = True
        message = "The model gave several answers; the first is shown"
        return [Status(message=message, kind="notice"), *kept]

    def _choice(self, chunk: wire.Chunk, choice: wire.Choice) -> Events:
        # A delta, a complete message, or the text of older completions. Some servers send that text
        # beside the delta, which has it too.
        fields = choice.delta or choice.message or ({"content": choice.text} if choice.text else {})
        delta, unread = _delta_of(fields)
        present = [(field, value) for field in self.FIELDS if (value := getattr(delta, field))]
        unknown = [] if present else [
            name for name, value in fields.items()
            if value and name not in _SILENT and name not in self.FIELDS
        ]  # fmt: skip
        if unknown:
            raise UnrecognizedLine(f"delta of {', '.join(sorted(unknown))}")
        events = self._begin(chunk.id) if self._begins(chunk, delta, bool(present)) else []
        for field, value in present:
            events += self.FIELDS[field](self, value, delta)
        events += unread
        if choice.finish_reason is not None and self._finish is None:
            self._finish = choice.finish_reason
            events += self._end()
        return events

    def _begins(self, chunk: wire.Chunk, delta: wire.Delta, has_content: bool) -> bool:
        if self._message is None:
            return True
        if self._broken:
            return has_content
        is_next = chunk.id != self._chunk_id and delta.role is not None
        return self._finish is not None and (has_content or is_next)

    def _begin(self, chunk_id: str | None) -> Events:
        before = self._leave()
        if self._broken and self._blocks:
            before.append(Retract(blocks=tuple(self._blocks), reason="retry"))
        self._count += 1
        self._chunk_id = chunk_id
        self._message = self._names.unique(chunk_id, "message")
        self._blocks, self._finish, self._refused, self._broken = [], None, False, False
        self._calls.begin()
        return [*before, StepStart(id=self._message, kind="turn", number=self._count)]

    def _leave(self) -> Events:
        """A message that another follows before its finish reason."""
        if self._message is None or self._finish is not None:
            return []
        ends = [*self._turn(None, interrupted=True), *self._calls.end()]
        return [*ends, StepEnd(id=self._message, status="interrupted")]

    def _end(self) -> Events:
        provider = {VENDOR: self._ending} if self._ending else None
        end = StepEnd(id=self._message, reason=self._finish, provider=provider)
        self._ending = {}
        ends = [*self._extras.end_audio(self._message), *self._turn(None), *self._calls.end()]
        return [*ends, end]

    # Blocks

    def _turn(self, to: type[StreamEvent] | None, interrupted: bool = False) -> Events:
        """End the open block unless it is one of `to`."""
        if self._open is None or self._open[0] is to:
            return []
        kind, name = self._open
        self._open = None
        if kind is Text:
            return [TextEnd(id=name, interrupted=interrupted)]
        details, self._thought = self._thought, []
        provider = {VENDOR: {"reasoning_details": details}} if details else None
        return [ThinkingEnd(id=name, provider=provider)]

    def _block(self, opening: Any, **about: Any) -> Events:
        """Open a block of this kind, unless one is open."""
        events = self._turn(opening)
        if self._open is None:
            name = f"{self._message}:{len(self._blocks)}"
            self._open = (opening, name)
            self._blocks.append(name)
            events.append(opening(id=name, **about))
        return events

    def _name(self) -> str:
        assert self._open is not None  # callers have opened one
        return self._open[1]

    def _add_text(self, text: str) -> Events:
        return [*self._block(Text), TextDelta(id=self._name(), delta=text)]

    def _think(self, text: str) -> Events:
        return [*self._block(Thinking), ThinkingDelta(id=self._name(), delta=text)]

    def _content(self, content: str | list[JSON], _delta: wire.Delta) -> Events:
        if isinstance(content, str):
            return self._add_text(content)
        return [
            event for part in content for event in parse_or_raw(partial(self._part, part), part)
        ]

    def _part(self, part: JSON) -> Events:
        """One part of a content list, which some providers send."""
        if isinstance(part, str):
            return self._add_text(part) if part else []
        if not isinstance(part, dict):
            raise UnrecognizedLine("a part that is neither text nor an object")
        words = part.get("text")
        if part.get("type") in ("text", "output_text") and isinstance(words, str):
            return self._add_text(words) if words else []
        if part.get("type") == "thinking":
            return [e for text in _texts(part.get("thinking")) for e in self._think(text)]
        return self._extras.part(part, self._block_for_sources())

    def _refusal(self, text: str, _delta: wire.Delta) -> Events:
        self._refused = True
        return [*self._block(Text, kind="refusal"), TextDelta(id=self._name(), delta=text)]

    def _reasoning(self, text: JSON, delta: wire.Delta) -> Events:
        if delta.reasoning_content:  # a duplicate
            return []
        if not isinstance(text, str):
            return [Raw(raw=text, source="reasoning that is no text")]
        return self._think(text)

    def _details(self, details: list[dict[str, JSON]], delta: wire.Delta) -> Events:
        """The details of a thought; their text, unless it was in another field."""
        words = delta.reasoning_content or delta.reasoning
        texts = [] if words else [detail.get("text", detail.get("summary")) for detail in details]
        events = [e for text in texts if text and isinstance(text, str) for e in self._think(text)]
        more = [d for d in details if d.get("signature") or d.get("data")]
        if more:
            events += self._block(Thinking)
            self._thought += more
        return events

    # The rest

    def _tool_calls(self, pieces: list[wire.CallPiece], _delta: wire.Delta) -> Events:
        events = [*self._turn(None)]
        for piece in pieces:
            events += self._calls.add(piece)
        self._blocks += [e.id for e in events if e.type == "tool_use_start" and e.id]
        return events

    def _annotations(self, annotations: list[dict[str, JSON]], _delta: wire.Delta) -> Events:
        return self._extras.annotations(annotations, self._block_for_sources())

    def _sound(self, audio: dict[str, JSON]) -> Events:
        text = self._extras.audio(audio)
        return self._add_text(text) if text else []

    def _executed(self, tools: list[dict[str, JSON]], _delta: wire.Delta) -> Events:
        events = self._turn(None)
        for tool in tools:
            events += parse_or_raw(partial(self._extras.executed, tool, self._message), tool)
        return events

    def _block_for_sources(self) -> str | None:
        return self._open[1] if self._open is not None and self._open[0] is Text else self._message

    FIELDS: ClassVar[dict[str, Callable[[Chat, Any, wire.Delta], Events]]] = {
        "reasoning_content": lambda chat, text, _: chat._think(text),
        "reasoning": _reasoning,
        "reasoning_details": _details,
        "executed_tools": _executed,
        "content": _content,
        "refusal": _refusal,
        "audio": lambda chat, audio, _: parse_or_raw(lambda: chat._sound(audio), audio),
        "images": lambda chat, images, _: chat._extras.images(images, chat._message),
        "annotations": _annotations,
        "tool_calls": _tool_calls,
        "function_call": lambda chat, function, delta: chat._tool_calls(
            [wire.CallPiece(index=0, function=function)], delta
        ),
    }
    """The fields of a delta, in the order in which they are emitted."""


def _delta_of(fields: dict[str, JSON]) -> tuple[wire.Delta, Events]:
    """A delta, and its invalid fields as RAW."""
    try:
        return convert(fields, wire.Delta), []
    except ValidationError:
        unread: Events = []
        valid = {}
        for name, value in fields.items():
            if raws := parse_or_raw(partial(_check, name, value), value):
                unread += raws
            else:
                valid[name] = value
        return convert(valid, wire.Delta), unread


def _check(name: str, value: JSON) -> Events:
    convert({name: value}, wire.Delta)
    return []


def _texts(thinking: JSON) -> list[str]:
    """The text of a thought, which is a string or a list of parts."""
    parts = thinking if isinstance(thinking, list) else [thinking]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in texts if isinstance(text, str) and text]
