"""The messages of a run, and the blocks of each, one after the other.

Rule 1: a block ends where the next one of its message starts. The frameworks send the ends of all
        blocks in a burst at the end of the message, or not at all.
Rule 2: a tool's input ends there only if it is complete: inputs of parallel calls may alternate.
Rule 3: data that comes after the end of a block (signatures, in the burst) is kept by the message,
        and emitted with its end.
Rule 4: a tool's block has the id of its call; the others have at most an index: their id is
        `<message>:<index>`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from msgspec import convert

from mobox.events import (
    JSON,
    Events,
    Outcome,
    Retract,
    Scope,
    StepEnd,
    StepStart,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
    Thinking,
    ThinkingDelta,
    ThinkingEnd,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
    Usage,
)
from mobox.events.names import IdAllocator, tool_use_end
from mobox.events.usage import sum_counts
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import display_of, kind_of
from mobox.parsers.values import parse_or_raw

Key = tuple[str, wire.Index]

_OPENINGS: Final[dict[str, Any]] = {"text": Text, "thinking": Thinking}
_DELTAS: Final[dict[str, Any]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool": ToolUseDelta,
}


class Block:
    """A block of a message. `parts` are the deltas of a tool's input, or of a signature."""

    __slots__ = ("ended", "id", "kind", "parts", "server")

    def __init__(self, name: str, kind: str) -> None:
        self.id = name
        self.kind = kind
        self.parts: list[str] = []
        self.ended = False
        self.server = False  # a call that the provider runs itself


class Message:
    """A message that has started."""

    def __init__(self, name: str, scope: Scope, vendor: str | None, model: str | None) -> None:
        self.id = name
        self.scope = scope
        self.vendor = vendor or "langchain"
        """The provider, the key of its state in `provider`."""
        self.model = model
        self.stop_reason: str | None = None
        self.ended = False
        self.calls: list[str] = []
        """Its calls, without those that the provider runs."""
        self.step: int | None = None
        """Its step of the graph; messages of one step may alternate."""
        self.node: str | None = None
        """Its node."""
        self._blocks: dict[Key, Block] = {}
        self._block_ids: dict[str, None] = {}  # an ordered set
        self._names = IdAllocator()
        self._open: Block | None = None  # the last block
        self._late: dict[str, JSON] = {}
        self._usage: dict[str, Any] = {}

    @property
    def block_ids(self) -> tuple[str, ...]:
        """The ids of its blocks, in order."""
        return tuple(self._block_ids)

    @property
    def was_interrupted(self) -> bool:
        """Whether it was interrupted: no end, no stop reason and no usage."""
        return not (self.ended or self.stop_reason or self._usage)

    # Blocks

    def find(self, kind: str, index: wire.Index) -> Block | None:
        """The block of that index, if it has started."""
        return self._blocks.get((kind, index))

    def add_text(self, kind: str, index: wire.Index, text: str = "") -> Events:
        """A delta of an answer ("text") or of a thought ("thinking"), which it may open."""
        block = self._blocks.get((kind, index))
        events: Events = []
        if block is None or block.ended:
            block, events = self.open_block(kind, index)
            events.append(_OPENINGS[kind](id=block.id, scope=self.scope))
        if text:
            events.append(_DELTAS[kind](id=block.id, scope=self.scope, delta=text))
        return events

    def delta_of(self, kind: str, index: wire.Index, text: str) -> StreamEvent | None:
        """The delta of an open block, of text or of a call's input; `None` if there is none."""
        block = self._blocks.get((kind, index))
        if block is None or block.ended or not text:
            return None
        if kind == "tool":
            block.parts.append(text)
        delta: StreamEvent = _DELTAS[kind](id=block.id, scope=self.scope, delta=text)
        return delta

    def add_whole_text(self, kind: str, index: wire.Index, text: str) -> Events:
        """A whole answer ("text") or thought ("thinking")."""
        block, events = self.open_block(kind, index)
        return [*events, _OPENINGS[kind](id=block.id, scope=self.scope, content=text)]

    def add_redacted_thought(self, index: wire.Index, data: JSON) -> Events:
        """A redacted thought."""
        block, events = self.open_block("thinking", index)
        block.ended = True
        provider = {self.vendor: {"redacted_data": data}}
        return [
            *events,
            Thinking(id=block.id, scope=self.scope, redacted=True),
            ThinkingEnd(id=block.id, scope=self.scope, provider=provider),
        ]

    def add_signature(self, index: wire.Index, signature: str) -> Events:
        """The signature of a thought, in deltas or after its end."""
        block = self._blocks.get(("thinking", index))
        events: Events = []
        if block is None:
            events = self.add_text("thinking", index)
            block = self._blocks["thinking", index]
        if block.ended:
            self._late[block.id] = {"signature": signature}
        else:
            block.parts.append(signature)
        return events

    def start_call(
        self, index: wire.Index, call_id: str | None, name: str, *, server: bool = False
    ) -> Events:
        """A call starts."""
        call_id = call_id or self._names.unique(f"{self.id}:call", "call")
        block, events = self.open_block("tool", index, call_id)
        block.server = server
        if not server:
            self.calls.append(block.id)
        start = ToolUseStart(
            id=block.id,
            scope=self.scope,
            name=name,
            kind=kind_of(name),
            server=server,
            display=display_of(name),
        )
        return [*events, start]

    def add_input_delta(self, index: wire.Index, text: str) -> Events:
        """A delta of a call's input."""
        delta = self.delta_of("tool", index, text)
        return [] if delta is None else [delta]

    def finish_input(self, index: wire.Index, value: JSON, invalid: str | None = None) -> Events:
        """A call's input is complete; its deltas take precedence over `value`."""
        block = self._blocks.get(("tool", index))
        if block is None or block.ended:
            return []
        if invalid is None and not block.parts:
            block.ended = True
            return [ToolUseEnd(id=block.id, scope=self.scope, input={} if value is None else value)]
        return [self._end(block)]

    def open_block(
        self, kind: str, index: wire.Index, name: str | None = None
    ) -> tuple[Block, Events]:
        """Open a block, and end the one before it."""
        events, before = self.leave_block(), self._blocks.get((kind, index))
        if before is not None and not before.ended:
            events.append(self._end(before))
        name = name or self._name(index)
        self._block_ids[name] = None
        block = self._open = self._blocks[kind, index] = Block(name, kind)
        return block, events

    def block_id(self, kind: str, index: wire.Index) -> str:
        """The id of a block, or that of its message where there is none."""
        block = self._blocks.get((kind, index))
        return block.id if block is not None else self.id

    def _name(self, index: wire.Index) -> str:
        number = len(self._block_ids) if index is None else index
        return self._names.unique(f"{self.id}:{number}", "block")

    # Ends

    def leave_block(self) -> Events:
        """Another block starts, or content without a block."""
        block, self._open = self._open, None
        if block is None or block.ended:
            return []
        if block.kind == "tool" and not _is_object("".join(block.parts)):
            return []
        return [self._end(block)]

    def _end(self, block: Block) -> StreamEvent:
        block.ended = True
        if block.kind == "text":
            return TextEnd(id=block.id, scope=self.scope)
        if block.kind == "thinking":
            signature = "".join(block.parts)
            provider = {self.vendor: {"signature": signature}} if signature else None
            return ThinkingEnd(id=block.id, scope=self.scope, provider=provider)
        text = "".join(block.parts)
        block.parts.clear()
        return tool_use_end(block.id, text, self.scope)

    def end(self, status: Outcome = "ok") -> Events:
        """The message ends: end its open blocks and its turn."""
        if self.ended:
            return []
        self.ended = True
        ends = [self._end(block) for block in self._blocks.values() if not block.ended]
        provider = {self.vendor: {"blocks": self._late}} if self._late else None
        turn = StepEnd(
            id=self.id,
            scope=self.scope,
            status=status,
            reason=self.stop_reason,
            provider=provider,
        )
        return [*ends, turn]

    # Usage

    def add_usage(self, usage: JSON, *, whole: bool = False) -> Events:
        """Its usage: those of deltas add up; a complete message has the total."""
        if usage is None:
            return []
        return parse_or_raw(
            lambda: self._add_counts(convert(usage, wire.Usage), whole), usage, self.scope
        )

    def _add_counts(self, usage: wire.Usage, whole: bool) -> Events:
        counts = _counts(usage)
        before = {} if whole else self._usage
        summed: dict[str, Any] = {
            name: sum_counts(before.get(name), counts.get(name))
            for name in sorted({*before, *counts})
        }
        if not summed or summed == self._usage:
            return []
        self._usage = summed
        return [Usage(id=self.id, scope=self.scope, model=self.model, **summed)]


def _counts(usage: wire.Usage) -> dict[str, Any]:
    read, written = usage.input_token_details, usage.output_token_details
    counts = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "total": usage.total_tokens,
        "cache_read": read.cache_read if read is not None else None,
        "cache_write": read.cache_creation if read is not None else None,
        "reasoning": written.reasoning if written is not None else None,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _is_object(text: str) -> bool:
    """Whether an input is complete: a prefix of it is not JSON."""
    return bool(text.strip()) and isinstance(tool_use_end("", text).input, dict)


_GIVEN_NAMES: Final = ("run-", "lc_run-")
"""Prefix of the ids that LangChain gives to messages."""


class Messages:
    """The messages of one run: which are open, which have ended, and which are sent again.

    If a message was interrupted and its node starts another, it is being sent again.
    Not all streams have the end of a message. An open one ends when its agent starts another in a
    later step of the graph; messages of one step may alternate.
    """

    def __init__(self, names: IdAllocator) -> None:
        self.last: Message | None = None
        """The last message of the root."""
        self._names = names
        self._turns: Counter[Scope] = Counter()
        self._open: dict[str, Message] = {}  # the open messages, by each of their names
        self._ended: set[str] = set()  # the names of ended messages and of the history
        self._failed_blocks: dict[tuple[Scope, str], tuple[str, ...]] = {}  # blocks by node

    @property
    def open(self) -> list[Message]:
        """The open messages."""
        return list(dict.fromkeys(self._open.values()))

    def find(self, name: str | None) -> Message | None:
        """The open message of that name."""
        return self._open.get(name or "")

    def has_ended(self, name: str | None) -> bool:
        """Whether a message has ended, or is in the history."""
        return name in self._ended

    def mark_ended(self, name: str | None) -> None:
        """Mark the message of that name as ended."""
        self._ended |= {name or ""} - {""}
        self._names.take(name)

    def begin(
        self,
        name: str | None,
        scope: Scope,
        vendor: str | None,
        model: str | None,
        node: str | None,
    ) -> tuple[Message, Events]:
        """A message starts; one that was interrupted in the same node is sent again with it."""
        before = self._retract(scope, node) if node is not None else []
        message = Message(self._names.unique(name, "message"), scope, vendor, model)
        message.node = node
        self._open[name or ""] = message
        self._turns[scope] += 1
        if not scope:
            self.last = message
        number = self._turns[scope]
        return message, [*before, StepStart(id=message.id, scope=scope, kind="turn", number=number)]

    def find_by_provider_id(
        self, name: str | None, scope: Scope, node: str | None
    ) -> Message | None:
        """The open message that a provider's own id belongs to, after LangChain gave it another."""
        if not name or name.startswith(_GIVEN_NAMES) or name in self._ended:
            return None
        for known, message in self._open.items():
            if (message.scope, message.node) == (scope, node) and known.startswith(_GIVEN_NAMES):
                self._open[name] = message
                self._names.take(name)
                return message
        return None

    def end(self, message: Message, status: Outcome = "ok") -> Events:
        """A message ends."""
        for name in [name for name, each in self._open.items() if each is message]:
            del self._open[name]
            self._ended |= {name, message.id} - {""}
        return message.end(status)

    def fail(self, message: Message) -> Events:
        """A message is interrupted by an error; its node may retry."""
        if message.node is not None:
            self._failed_blocks[message.scope, message.node] = message.block_ids
        return self.end(message, "error")

    def end_earlier(self, scope: Scope, step: int | None) -> Events:
        """Another message of an agent starts: end its open messages of earlier steps."""
        left = [m for m in self.open if m.scope == scope and (step is None or m.step != step)]
        return [event for message in left for event in self.end(message)]

    def _retract(self, scope: Scope, node: str) -> Events:
        left = [m for m in self.open if (m.scope, m.node) == (scope, node) and m.was_interrupted]
        blocks = self._failed_blocks.pop((scope, node), ())
        blocks += tuple(name for message in left for name in message.block_ids)
        ends = [event for message in left for event in self.end(message, "interrupted")]
        return [*ends, Retract(scope=scope, blocks=blocks, reason="retry")] if blocks else ends
