"""What is open in a response: text and reasoning messages, steps, subagents and status lines.

Where a response ends before the run does, all of it is closed (`suspend`), and opened again where
the next response starts (`reopen`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mobox.events import (
    JSON,
    Outcome,
    Source,
    StepEnd,
    StepStart,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
)
from mobox.events.blocks import Block, Line, Move, OpenBlock
from mobox.events.placeholders import Placeholders
from mobox.formatters.ag_ui.documents import (
    Documents,
    Profile,
    WireIds,
    custom,
    delta_prefix,
    encode,
    encrypted,
    event,
    mobox_metadata,
)
from mobox.formatters.values import source_document, source_url, without_none


class OpenMessage:
    """One message that is sent in deltas."""

    __slots__ = (
        *("citations", "empty", "gone", "mobox", "own", "owner", "placeholders", "prefix"),
        *("delta_class", "started", "wire"),
    )

    def __init__(
        self,
        own: str,
        wire: str,
        delta_class: type[StreamEvent],
        owner: str | None,
        *,
        is_text: bool,
    ) -> None:
        self.own = own
        self.wire = wire
        self.delta_class = delta_class
        self.owner = owner
        kind = "TEXT_MESSAGE_CONTENT" if is_text else "REASONING_MESSAGE_CONTENT"
        self.prefix = delta_prefix(kind, "messageId", wire)
        self.placeholders: Placeholders | None = None
        self.mobox: dict[str, JSON] = {}
        self.citations: list[JSON] = []
        self.started: int | None = None
        self.empty = True
        self.gone = False  # retracted, and its end is RAW: nothing more is sent

    @property
    def is_text(self) -> bool:
        return self.prefix.startswith(b'{"type":"TEXT')

    def start(self) -> Documents:
        """Open it, or open it again; only this event names its agent."""
        if self.gone:
            return []
        who = {"messageId": self.wire, "subagentRunId": self.owner}
        metadata = block_metadata(self.mobox, [])
        if self.is_text:
            return [event("TEXT_MESSAGE_START", **who, role="assistant", metadata=metadata)]
        return [
            event("REASONING_START", **who),
            event("REASONING_MESSAGE_START", **who, role="reasoning", metadata=metadata),
        ]

    def write(self, text: str, between: str = "") -> Documents:
        """A delta of it; `between` precedes every delta but the first."""
        if not text or self.gone:
            return []
        text = text if self.empty else between + text
        if self.placeholders is not None:
            text = self.placeholders.feed(text)
        return self._delta(text)

    def rest(self) -> Documents:
        """The text that was held back, at its end."""
        if self.placeholders is None or self.gone:
            return []
        return self._delta(self.placeholders.flush())

    def _delta(self, text: str) -> Documents:
        if not text:
            return []
        self.empty = False
        return [self.prefix + encode(text) + b"}"]

    def end(self, metadata: Any = None, provider: dict[str, JSON] | None = None) -> Documents:
        """Close it, with the metadata of the whole message."""
        if self.gone:
            return []
        if self.is_text:
            return [event("TEXT_MESSAGE_END", messageId=self.wire, metadata=metadata)]
        return [
            event("REASONING_MESSAGE_END", messageId=self.wire, metadata=metadata),
            *encrypted("message", self.wire, provider),
            event("REASONING_END", messageId=self.wire),
        ]


class OpenMessages:
    """The open blocks."""

    def __init__(self) -> None:
        self._open: dict[str | None, OpenMessage] = {}
        self._latest: dict[str | None, OpenMessage] = {}
        self.find = self._open.get
        """The open block of that id; `None` if there is none."""

    def __contains__(self, own: str | None) -> bool:
        return own in self._open

    def open(self, block: OpenMessage, ts: int | None) -> Documents:
        """Open a block under its own id; it replaces one whose end is RAW."""
        before = self._open.get(block.own)
        block.started = ts
        self._open[block.own] = self._latest[block.own] = block
        return [*(before.end() if before is not None else []), *block.start()]

    def close(
        self, own: str | None, ts: int | None, provider: dict[str, JSON] | None = None
    ) -> Documents:
        """End a block, with its duration, unless it is an answer, and a text's citations."""
        block = self._open.pop(own)
        rest = block.rest()
        is_answer = block.is_text and block.owner is None
        if is_answer or block.gone or ts is None or block.started is None:
            return rest + block.end(block_metadata(block.mobox, block.citations), provider)
        block.mobox = {**block.mobox, "durationMs": ts - block.started}
        duration = {"messageId": block.wire, "durationMs": ts - block.started}
        ending = block.end(block_metadata(block.mobox, block.citations), provider)
        return [*rest, *ending, custom("mobox.duration", duration)]

    def close_all(self, ts: int | None) -> Documents:
        """End all open blocks, in the order in which they were opened."""
        return [end for own in list(self._open) for end in self.close(own, ts)]

    def cite(self, own: str | None, cited: JSON) -> Documents | None:
        """Add a citation to a block; one that has ended is sent again. `None`: no such block."""
        block = self._latest.get(own)
        if block is None:
            return None
        block.citations.append(cited)
        if block.own in self._open:
            return []  # sent when it ends
        return [*block.start(), *block.end(block_metadata(block.mobox, block.citations))]

    def forget(self, names: tuple[str, ...]) -> Documents:
        """These were retracted; an open one ends here."""
        documents: Documents = []
        for own in names:
            self._latest.pop(own, None)
            if own in self._open:
                documents += self._open[own].end()
                self._open[own].gone = self._open[own].empty = True
        return documents

    def suspend(self) -> Documents:
        """The ends of all open blocks, where the response ends but they do not."""
        return [end for block in self._open.values() for end in block.end()]

    def reopen(self) -> Documents:
        """The starts of all open blocks, for a response that starts here."""
        return [start for block in self._open.values() for start in block.start()]


def block_metadata(mobox: dict[str, JSON], citations: list[JSON]) -> dict[str, JSON] | None:
    """The metadata of a message."""
    return without_none({"mobox": mobox or None, "citations": citations or None}) or None


def citation(source: Source) -> dict[str, JSON]:
    """A source, whether a text cites it or not."""
    about = {
        "url": source_url(source),
        "title": source.title,
        "document": source_document(source),
        "file": source.file,
        "citedText": source.cited_text,
        "location": source.location,
        "score": source.score,
        "confidence": source.confidence,
    }
    return without_none(about)


class _Step(NamedTuple):
    name: str
    owner: str | None
    start: StepStart

    def document(self, kind: str, end: StepEnd | None = None) -> bytes:
        """The event of its start or end; `end` only if the step itself ended, not the response."""
        start = self.start
        about = {"id": start.id, "kind": start.kind, "name": start.name, "number": start.number}
        metadata = mobox_metadata({**about, "status": end.status if end is not None else None})
        return event(kind, stepName=self.name, subagentRunId=self.owner, metadata=metadata)


class Steps:
    """The open steps. Clients know a step only by its name, so open steps have unique names."""

    def __init__(self, ids: WireIds) -> None:
        self._ids = ids
        self._open: dict[str | None, _Step] = {}

    def start(self, log_event: StepStart) -> Documents:
        before = self.end(StepEnd(id=log_event.id))  # its end may be RAW
        owner = self._ids.owner(log_event.scope)
        self._open[log_event.id] = step = _Step(self._free_name(log_event, owner), owner, log_event)
        return [*before, step.document("STEP_STARTED")]

    def end(self, log_event: StepEnd) -> Documents:
        step = self._open.pop(log_event.id, None)
        return [step.document("STEP_FINISHED", log_event)] if step is not None else []

    def suspend(self) -> Documents:
        """The ends of all open steps, the last first, where the response ends."""
        return [step.document("STEP_FINISHED") for step in reversed(self._open.values())]

    def reopen(self) -> Documents:
        """The starts of all open ones, for a response that starts here."""
        return [step.document("STEP_STARTED") for step in self._open.values()]

    def close_all(self) -> Documents:
        ends = self.suspend()
        self._open.clear()
        return ends

    def _free_name(self, step: StepStart, owner: str | None) -> str:
        numbered = f"{step.kind} {step.number}" if step.number is not None else str(step.kind)
        name = step.name or numbered
        taken = {each.name for each in self._open.values() if each.owner == owner}
        others = (f"{name} ({count})" for count in range(2, len(taken) + 2))
        return name if name not in taken else next(each for each in others if each not in taken)


_WORDS: dict[Outcome, str] = {
    "error": "The subagent failed.",
    "denied": "The subagent was denied.",
    "interrupted": "The subagent was interrupted.",
}


class Subagents:
    """The started subagents: an id belongs to one invocation, so its start is sent once."""

    def __init__(self, ids: WireIds, profile: Profile) -> None:
        self._ids = ids
        self._profile = profile
        self._open: dict[str | None, SubagentStart] = {}
        self._announced: set[str | None] = set()  # in this response
        self._active: set[str | None] = set()  # sent, and not ended

    def start(self, log_event: SubagentStart) -> Documents:
        self._open[log_event.id] = log_event
        if not self._profile.subagents or log_event.id in self._announced:
            return [self._as_custom(log_event)]
        return [self._started(log_event)]

    def end(self, log_event: SubagentEnd) -> Documents:
        start = self._open.pop(log_event.id, None)
        return [self._ended(start, log_event)] if start is not None else []

    def suspend(self) -> Documents:
        """The ends of all open subagents, where the response ends but they do not."""
        active = [self._ids.of(own) for own in reversed(self._open) if own in self._active]
        outcome = {"type": "suspended"}
        return [event("SUBAGENT_FINISHED", subagentRunId=each, outcome=outcome) for each in active]

    def reopen(self) -> Documents:
        """The starts of all open ones, for a response that starts here."""
        self._announced, self._active = set(), set()
        if not self._profile.subagents:
            return []
        return [self._started(start) for start in self._open.values()]

    def close_all(self) -> Documents:
        ends = (SubagentEnd(id=own, status="interrupted") for own in reversed(list(self._open)))
        return [document for end in ends for document in self.end(end)]

    def _started(self, log_event: SubagentStart) -> bytes:
        has_parent = bool(log_event.scope) and log_event.scope[-1] in self._announced
        self._announced.add(log_event.id)
        self._active.add(log_event.id)
        return event(
            "SUBAGENT_STARTED",
            subagentRunId=self._ids.of(log_event.id),
            name=log_event.agent,
            description=log_event.task,
            parentSubagentRunId=self._ids.owner(log_event.scope) if has_parent else None,
            parentToolCallId=self._ids.of(log_event.id),
            metadata=_about(log_event),
        )

    def _ended(self, start: SubagentStart, log_event: SubagentEnd) -> bytes:
        if log_event.id not in self._active:
            return self._as_custom(start, log_event)
        self._active.discard(log_event.id)
        name, status = self._ids.of(log_event.id), log_event.status
        if status in _WORDS:
            words = log_event.summary or _WORDS[status]
            return event("SUBAGENT_ERROR", subagentRunId=name, message=words, code=status)
        return event(
            "SUBAGENT_FINISHED",
            subagentRunId=name,
            result=log_event.summary,
            outcome={"type": "success"},
            metadata=mobox_metadata({"status": None if status == "ok" else status}),
        )

    def _as_custom(self, start: SubagentStart, end: SubagentEnd | None = None) -> bytes:
        about = {
            "subagentRunId": self._ids.of(start.id),
            "name": start.agent,
            "task": start.task,
            "status": end.status if end is not None else "running",
            "summary": end.summary if end is not None else None,
        }
        return custom("mobox.subagent", without_none(about), _about(start))


def _about(start: SubagentStart) -> dict[str, JSON] | None:
    """Its parents, outermost first, and whether it runs in the background."""
    return mobox_metadata(
        {"scope": list(start.scope) or None, "background": start.background or None}
    )


class Processing:
    """The open block of status lines, which are not messages of the chat.

    They are sent live only: a page shows them as one block, with its duration.
    """

    def __init__(self) -> None:
        self._open: OpenBlock | None = None
        self._started: int | None = None

    def turn(self, move: Move, ts: int | None) -> Documents:
        """End the open block, and start another, which is sent with its first line."""
        ending = self.end(ts) if move.closed == self._open else []
        if move.opened is not None and move.opened.block is Block.PROCESSING:
            self._open, self._started = move.opened, ts
        return ending

    def format_line(self, line: Line | None) -> Documents:
        """Send a line; nothing for a progress pulse."""
        if line is None:
            return []
        return [custom("mobox.processing", {"id": line.block_id, "line": line.text})]

    def end(self, ts: int | None) -> Documents:
        """End the open block, if there is one."""
        block, started = self._open, self._started
        self._open = self._started = None
        if block is None:
            return []
        took = ts - started if ts is not None and started is not None else None
        return [custom("mobox.processing", without_none({"id": block.id, "durationMs": took}))]
