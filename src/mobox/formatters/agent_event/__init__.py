"""StreamEvents as the nine events of the `agent:event` contract.

Rule 1: session_start comes first, complete or error last, once each; a run that waits has no last.
Rule 2: a thought or a text is sent in chunks, then complete; a call when its input is complete,
        then its result. Empty blocks are not sent.
Rule 3: every event has the next eventIndex: a client that knows its last one misses nothing.
Rule 4: a complete block is in the log already, so it is persisted; chunks are transient.
Rule 5: there are nine types: events that fit none of them are left out.

docs/agent-event.md is the contract as it is served.

A delivery needs of this package:

- `AgentEventFormatter(message_id, profile, session_id=…, user_id=…, first_event_index=…,
  last_event_index=…)`: `message_id` is the run's id, `first_event_index` how many events the runs
  before it in the session have, `last_event_index` the last that the client has: those up to it are
  counted and not sent. `format` is that of `Formatter`; `pause` and `resume` return nothing, as a
  client of this contract has a session and not a response. `event_count` is the number of events so
  far: the next run's `first_event_index` is the sum.
- `place_of(last_event_index, counts)`: the run of a session from which a client continues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Literal

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    Done,
    DoneReason,
    Error,
    EventType,
    LogEntry,
    Raw,
    Result,
    Retract,
    Source,
    Start,
    StreamEvent,
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
from mobox.events.blocks import BETWEEN_THOUGHTS
from mobox.events.transcript import HeldErrors
from mobox.events.usage import UsageTotal
from mobox.formatters import StoredRun
from mobox.formatters.agent_event.numbering import (
    DEFAULT,
    PROFILES,
    Documents,
    Numbering,
    Place,
    place_of,
)
from mobox.formatters.values import (
    FAILED_OUTCOMES,
    call_error,
    profile_named,
    run_failure,
    source_document,
    source_url,
    without_none,
)

__all__ = ["DEFAULT", "PROFILES", "AgentEventFormatter", "Place", "place_of"]


# The blocks of one run: thoughts and texts, sent in chunks and then complete, and tool calls.


class Block:
    """One open block."""

    __slots__ = ("citations", "common", "delta_class", "deltas", "held", "kind", "prefix")

    def __init__(
        self,
        kind: Literal["message", "thinking"],
        delta_class: type[StreamEvent] | None = None,
        scope: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.delta_class = delta_class
        self.common: dict[str, JSON] = {"scope": list(scope)} if scope else {}
        self.prefix = b""
        self.deltas: list[str] = []
        self.citations: list[JSON] = []
        self.held: list[JSON] = []
        """The citations that no chunk has sent yet."""

    def cite(self, citation: JSON) -> None:
        """Keep a citation for the next chunk, and for the complete block."""
        self.held.append(citation)
        self.citations.append(citation)


class Blocks:
    """The open blocks, and the order in which all blocks of the run started."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._count = 0
        self._places: dict[str | None, list[int]] = defaultdict(list)
        self._open: dict[str | None, Block] = {}
        self.find = self._open.get
        """The open block of that name; `None` if there is none."""

    def place(self, name: str | None) -> int:
        """The `blockIndex` of a new block or call."""
        index, self._count = self._count, self._count + 1
        self._places[name].append(index)
        return index

    def places(self, name: str | None) -> list[int]:
        """The indexes of the blocks of that id, without retracted ones."""
        return self._places.get(name, [])

    def retract(self, names: Iterable[str]) -> list[int]:
        """Remove these blocks and return their indexes."""
        return [index for name in names for index in self._places.pop(name, ())]

    def open(self, name: str | None, block: Block) -> Documents:
        """Open a block; in a log of a later version, the one before it may have no end."""
        closing = self.close(name)
        self._open[name] = block
        block.common = {"blockIndex": self.place(name), **block.common}
        block.prefix = self._numbering.chunk_prefix(f"{block.kind}_chunk", **block.common)
        return closing

    def write(self, name: str | None, text: str, between: str = "") -> Documents:
        """A delta of an open block; `between` precedes every delta but the first."""
        if not text:
            return []
        block = self._open[name]
        text = between + text if block.deltas else text
        block.deltas.append(text)
        return self._chunk(block, text)

    def close(self, name: str | None, signature: str | None = None) -> Documents:
        """End a block, if it is open: send it complete, unless it is empty."""
        block = self._open.pop(name, None)
        if block is None or not (block.deltas or block.held or signature is not None):
            return []
        last = [] if block.deltas and not block.held else self._chunk(block, "")
        about: dict[str, JSON] = {"content": "".join(block.deltas), **block.common}
        about |= {"citations": block.citations} if block.citations else {}
        about |= {"signature": signature} if signature is not None else {}
        return [*last, *self._numbering.persisted(block.kind, **about)]

    def close_all(self) -> Documents:
        """End all open blocks, in the order in which they were opened."""
        return [document for name in list(self._open) for document in self.close(name)]

    def latest_message(self) -> Block | None:
        """The open text that was started last."""
        blocks = reversed(self._open.values())
        return next((block for block in blocks if block.kind == "message"), None)

    def _chunk(self, block: Block, text: str) -> Documents:
        cited = {"citations": block.held} if block.held else {}
        block.held = []
        return self._numbering.chunk(block.prefix, text, **cited)


class _Call:
    """Fields of a call's start that later events repeat."""

    __slots__ = ("common", "index", "sent")

    def __init__(self, start: ToolUseStart, index: int) -> None:
        self.common: dict[str, JSON] = {"tool_name": start.name, "tool_call_id": start.id}
        if start.scope:
            self.common["scope"] = list(start.scope)
        self.index = index
        self.sent = False


class Tools:
    """Every call of the run so far: sent when its input is complete, and again with its result."""

    def __init__(self, numbering: Numbering, blocks: Blocks) -> None:
        self._numbering = numbering
        self._blocks = blocks
        self._calls: dict[str | None, _Call] = {}

    def __contains__(self, name: str | None) -> bool:
        return name in self._calls

    def start(self, event: ToolUseStart) -> Documents:
        """A call starts and takes its `blockIndex`."""
        self._calls[event.id] = _Call(event, self._blocks.place(event.id))
        return []

    def more(self, event: ToolUseDelta) -> Documents:
        """Inputs are not streamed in this contract."""
        self._call_of(event)
        return []

    def end(self, event: ToolUseEnd) -> Documents:
        """The input is complete."""
        call = self._call_of(event)
        call.sent = True
        given = event.input if event.invalid is None else event.invalid
        if not isinstance(given, dict):  # the contract requires an object, whatever the model wrote
            given = {} if given is None else {"input": given}
        about = {**call.common, "tool_input": given, "blockIndex": call.index}
        return self._numbering.persisted("tool_use", **about)

    def result(self, event: ToolResult) -> Documents:
        """The result of a call; partial ones are not sent, as later results replace them."""
        call = self._call_of(event)
        if event.partial:
            return []
        before = [] if call.sent else self.end(ToolUseEnd(id=event.id))
        has_failed = event.status in FAILED_OUTCOMES
        result = {"result": call_error(event) if has_failed else event.output}
        failed = {"isError": True} if has_failed else {}
        about = {**call.common, **result, **failed}
        return [*before, *self._numbering.persisted("tool_result", **about)]

    def _call_of(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> _Call:
        """The call; its start may be RAW, if a later version logged it."""
        if event.id not in self._calls:
            self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        return self._calls[event.id]


def citation(source: Source) -> dict[str, JSON]:
    """A source, as one of the contract's citations."""
    about = {
        "cited_text": source.cited_text,
        "title": source.title,
        "url": source_url(source),
        "document": source_document(source),
        "file": source.file,
        "location": source.location,
        "score": source.score,
        "confidence": source.confidence,
    }
    return without_none(about)


STOP_REASONS: Final[dict[DoneReason, str]] = {
    "stop": "end_turn",
    "tool": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "max_turns": "max_turns",
    "cancelled": "cancelled",
    "truncated": "truncated",
    "interrupted": "interrupted",
    "lost": "lost",
    "error": "error",
}
"""Anthropic's names of reasons, used where the provider has none; others keep our name."""


class Ending:
    """The errors and the usage of a run until its end: `complete` or `error`."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._errors = HeldErrors()
        self._usage = UsageTotal()
        self._service_tier: str | None = None

    def fail(self, event: Error) -> Documents:
        """Hold an error; the last one is the end of the run, if it fails."""
        self._errors.hold(event)
        return []

    def use(self, event: Usage | Result) -> Documents:
        """Take an event about usage."""
        self._usage.add(event)
        if isinstance(event, Usage) and event.service_tier is not None:
            self._service_tier = event.service_tier
        return []

    def end(self, done: Done) -> Documents:
        """The one terminal event of the run."""
        fatal, _ = self._errors.release(done.reason)  # recovered errors are left out
        if failure := run_failure(done.reason, fatal):
            error, code = failure
            return self._numbering.persisted("error", error=error, code=code)
        stop_reason = done.native or STOP_REASONS[done.reason]
        return self._numbering.persisted("complete", stop_reason=stop_reason, usage=self.usage)

    @property
    def usage(self) -> dict[str, JSON]:
        """The known counts, with Anthropic's names; its input excludes cached tokens."""
        totals = self._usage.totals
        if totals is None:
            return {}
        cached = (totals.cache_read or 0) + (totals.cache_write or 0)
        about = {
            "input_tokens": None if totals.input is None else max(0, totals.input - cached),
            "output_tokens": totals.output,
            "cache_creation_input_tokens": totals.cache_write,
            "cache_read_input_tokens": totals.cache_read,
            "service_tier": self._service_tier,
        }
        return without_none(about)


Writer = Callable[["AgentEventFormatter", Any], Documents]
FastPath = tuple[str | None, type[StreamEvent] | None, bytes, list[str]]
"""The id and the class of consecutive deltas, the prefix of their chunks, and the list in which
their block keeps them."""
NO_FAST_PATH: FastPath = (None, None, b"", [])

_LEFT_OUT: Final = (
    *(EventType.PAUSED, EventType.STATUS, EventType.STEP_START, EventType.STEP_END),
    *(EventType.SUBAGENT_START, EventType.SUBAGENT_END, EventType.FILE, EventType.STATE),
    *(EventType.TODO_CREATE, EventType.TODO_UPDATE, EventType.TODO_DONE, EventType.CUSTOM),
    *(EventType.INPUT_REQUEST, EventType.INPUT_RESPONSE),
)
"""Events that fit none of the nine types."""

_SIGNATURES = ("signature", "thoughtSignature")
"""The vendors' names of it."""


class AgentEventFormatter:
    """Writes one run of one session."""

    PROFILES: ClassVar[tuple[str, ...]] = tuple(PROFILES)
    INDEXED: ClassVar = True

    def __init__(
        self,
        message_id: str,
        profile: str = DEFAULT,
        *,
        session_id: str = "session_1",
        user_id: str | None = None,
        first_event_index: int = 0,
        last_event_index: int = -1,
    ) -> None:
        """Events up to `last_event_index` are counted and not sent: the client has them."""
        self._session = {"sessionId": session_id, "userId": user_id}
        self._numbering = Numbering(
            message_id,
            first_event_index,
            last_event_index,
            sends_pending=profile_named(profile, PROFILES),
        )
        self._has_started = False
        self._blocks = Blocks(self._numbering)
        self._tools = Tools(self._numbering, self._blocks)
        self._ending = Ending(self._numbering)
        self._retracted: set[str | None] = set()
        self._fast_path = NO_FAST_PATH

    @classmethod
    def of_run(cls, run: StoredRun, profile: str) -> AgentEventFormatter:
        """A formatter for a client that reads a run without a request of its own."""
        return cls(
            run.id,
            profile,
            session_id=run.chat_id,
            user_id=run.owner,
            first_event_index=run.first_event_index,
        )

    @property
    def event_count(self) -> int:
        """The number of events of the run so far, including those that the client had already."""
        return self._numbering.count

    def format(self, entry: LogEntry) -> Documents:
        """The events of `entry`."""
        return self._format((entry,))

    def format_joined(self, entries: Iterable[LogEntry], between: bytes) -> bytes:
        """The events of the entries of one read, with `between` between each two."""
        return between.join(self._format(entries))

    def _format(self, entries: Iterable[LogEntry]) -> Documents:
        """Format entries; nine of ten are deltas that continue a block."""
        documents: Documents = []
        own, delta_class, prefix, deltas = self._fast_path
        chunk_of_entry = self._numbering.chunk_of_entry
        for entry in entries:
            event = entry.event
            if type(event) is delta_class and event.id == own:
                if delta := event.delta:  # type: ignore[attr-defined]
                    deltas.append(delta)
                    documents += chunk_of_entry(entry, prefix, delta)
            else:
                documents += self._write(entry)
                own, delta_class, prefix, deltas = self._fast_path = self._fast_path_after(event)
        return documents

    def _write(self, entry: LogEntry) -> Documents:
        event = entry.event
        self._numbering.turn_to(entry)
        block = self._blocks.find(event.id)
        if block is not None and block.delta_class is type(event):
            return self._blocks.write(event.id, event.delta)  # type: ignore[attr-defined]
        return self.WRITERS[event.type](self, event)

    def _fast_path_after(self, event: StreamEvent) -> FastPath:
        """The fast path for deltas that continue the block of `event`."""
        block = self._blocks.find(event.id)
        # An empty delta sent no chunk, so citations may still be held for the next one.
        if block is None or block.delta_class is not type(event) or not event.delta:  # type: ignore[attr-defined]
            return NO_FAST_PATH
        return event.id, block.delta_class, block.prefix, block.deltas

    def pause(self) -> Documents:
        """Nothing: the session continues, and so does the run after an answer."""
        return []

    def resume(self) -> Documents:
        """Nothing: a client that continues has all earlier events, by index."""
        return []

    # The run

    def _start(self, event: Start | Raw) -> Documents:
        if self._has_started:
            return []
        self._has_started = True
        config: dict[str, JSON] = dict.fromkeys(("model", "agent", "framework"))
        if isinstance(event, Start):
            config = {name: getattr(event, name) for name in config}
        return self._numbering.persisted("session_start", **self._session, modelConfig=config)

    def _done(self, event: Done) -> Documents:
        return [*self._blocks.close_all(), *self._ending.end(event)]

    # Blocks

    def _text(self, event: Text) -> Documents:
        """Text of the answer; text of a subagent is sent as a thought."""
        block = Block("thinking" if event.scope else "message", TextDelta, event.scope)
        return self._blocks.open(event.id, block) + self._blocks.write(event.id, event.content)

    def _thinking(self, event: Thinking) -> Documents:
        block = self._blocks.find(event.id)
        opening = []
        if block is None or block.delta_class is not ThinkingDelta:
            block = Block("thinking", ThinkingDelta, event.scope)
            opening = self._blocks.open(event.id, block)
        return opening + self._blocks.write(event.id, event.content, BETWEEN_THOUGHTS)

    def _more(self, event: TextDelta | ThinkingDelta) -> Documents:
        """A delta of a block whose start is RAW: logged by a later version."""
        if isinstance(event, TextDelta):
            return self._text(Text(id=event.id, scope=event.scope, content=event.delta))
        return self._thinking(Thinking(id=event.id, scope=event.scope, content=event.delta))

    def _end_block(self, event: TextEnd | ThinkingEnd) -> Documents:
        signature = _signature(event) if isinstance(event, ThinkingEnd) else None
        return self._blocks.close(event.id, signature)

    def _source(self, event: Source) -> Documents:
        """Send a citation with the next chunk of its text.

        The citation of a text which has ended names that text, and is sent with the next chunk of
        any text, or alone.
        """
        if event.scope or event.id in self._tools or event.id in self._retracted:
            return []
        cited = citation(event)
        block = self._blocks.find(event.id)
        if block is None:
            places = self._blocks.places(event.id)
            cited |= {"blockIndex": places[-1]} if places else {}
            block = self._blocks.latest_message()
        if block is None:
            alone = Block("message")
            alone.cite(cited)
            return self._blocks.open(event.id, alone) + self._blocks.close(event.id)
        if block.kind == "message":
            block.cite(cited)
        return []

    def _retract(self, event: Retract) -> Documents:
        # They have ended, except in the log of a later version, whose ends may be RAW.
        ends = [document for name in event.blocks for document in self._blocks.close(name)]
        self._retracted |= set(event.blocks)
        self._numbering.retracted += self._blocks.retract(event.blocks)
        return ends

    WRITERS: ClassVar[dict[EventType, Writer]] = {
        EventType.START: _start,
        EventType.DONE: _done,
        EventType.ERROR: lambda run, event: run._ending.fail(event),
        EventType.TEXT: _text,
        EventType.TEXT_DELTA: _more,
        EventType.TEXT_END: _end_block,
        EventType.THINKING: _thinking,
        EventType.THINKING_DELTA: _more,
        EventType.THINKING_END: _end_block,
        EventType.TOOL_USE_START: lambda run, event: run._tools.start(event),
        EventType.TOOL_USE_DELTA: lambda run, event: run._tools.more(event),
        EventType.TOOL_USE_END: lambda run, event: run._tools.end(event),
        EventType.TOOL_RESULT: lambda run, event: run._tools.result(event),
        EventType.SOURCE: _source,
        EventType.USAGE: lambda run, event: run._ending.use(event),
        EventType.RESULT: lambda run, event: run._ending.use(event),
        EventType.RETRACT: _retract,
        EventType.RAW: _start,
        **dict.fromkeys(_LEFT_OUT, lambda run, event: []),
    }
    """The handler of each event. A RAW is ignored, unless it is the first event: then it is the
    START of a later version."""


def _signature(event: ThinkingEnd) -> str | None:
    """The vendor's signature of a thought."""
    bags = [bag for bag in (event.provider or {}).values() if isinstance(bag, dict)]
    signed = (bag.get(name) for bag in bags for name in _SIGNATURES)
    return next((signature for signature in signed if isinstance(signature, str)), None)
