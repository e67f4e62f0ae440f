"""StreamEvents as the nine events of the `agent:event` contract.

Rule 1: session_start comes first, complete or error last, once each; a run that waits has no last.
Rule 2: a thought or a text is sent in chunks, then complete; a call when its input is complete,
        then its result. Empty blocks are not sent.
Rule 3: every event has the next eventIndex: a client that knows its last one misses nothing.
Rule 4: a complete block is in the log already, so it is persisted; chunks are transient.
Rule 5: there are nine types: events that fit none of them are left out.

docs/agent-event.md is the contract as it is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from mobox.events import (
    JSON,
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
    Usage,
)
from mobox.events.blocks import BETWEEN_THOUGHTS
from mobox.events.transcript import HeldErrors
from mobox.events.usage import UsageTotal
from mobox.formatters import StoredRun
from mobox.formatters.agent_event.blocks import Block, Blocks, Tools
from mobox.formatters.agent_event.numbering import DEFAULT, PROFILES, Documents, Numbering
from mobox.formatters.values import (
    profile_named,
    run_failure,
    source_document,
    source_url,
    without_none,
)


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
