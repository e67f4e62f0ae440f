"""The open text and reasoning messages of one run, and those that a citation may name."""

from __future__ import annotations

from typing import Any

from mobox.events import JSON, Source, StreamEvent
from mobox.events.placeholders import Placeholders
from mobox.formatters.ag_ui.documents import Documents, custom, delta_prefix, encode, event
from mobox.formatters.values import document_of, link_of, without_none


class Block:
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
        return self._piece(text)

    def rest(self) -> Documents:
        """The text that was held back, at its end."""
        if self.placeholders is None or self.gone:
            return []
        return self._piece(self.placeholders.flush())

    def _piece(self, text: str) -> Documents:
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


class Blocks:
    """The open blocks."""

    def __init__(self) -> None:
        self._open: dict[str | None, Block] = {}
        self._latest: dict[str | None, Block] = {}
        self.find = self._open.get
        """The open block of that id; `None` if there is none."""

    def __contains__(self, own: str | None) -> bool:
        return own in self._open

    def open(self, block: Block, ts: int | None) -> Documents:
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
        "url": link_of(source),
        "title": source.title,
        "document": document_of(source),
        "file": source.file,
        "citedText": source.cited_text,
        "location": source.location,
        "score": source.score,
        "confidence": source.confidence,
    }
    return without_none(about)


def encrypted(subtype: str, wire: str, provider: dict[str, JSON] | None) -> Documents:
    """Vendor state to send back, as the text that the client keeps with its message."""
    if not provider:
        return []
    value = encode(provider).decode()
    return [
        event("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=wire, encryptedValue=value)
    ]
