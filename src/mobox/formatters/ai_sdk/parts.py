"""The text and reasoning parts of one message that are open, and how long they have been."""

from __future__ import annotations

from collections.abc import Iterator

from mobox.events import JSON, StreamEvent, TextDelta, ThinkingDelta
from mobox.formatters.ai_sdk.chunks import chunk, text_prefix, text_suffix

__all__ = ["Parts"]

Chunks = list[bytes]


class _Part:
    """One open part; `kind` is the first half of its chunks' names."""

    __slots__ = ("empty", "id", "kind", "mobox", "prefix", "started", "told_by")

    def __init__(
        self, kind: str, block_id: str, told_by: type[StreamEvent], mobox: dict[str, JSON]
    ) -> None:
        self.kind = kind
        self.id = block_id
        self.mobox = mobox
        self.told_by = told_by
        self.prefix = text_prefix(f"{kind}-delta", "id", block_id, "delta")
        self.started: int | None = None
        self.empty = True

    def start(self) -> bytes:
        metadata = {"mobox": self.mobox}
        return chunk(f"{self.kind}-start", id=self.id, providerMetadata=metadata)


class Parts:
    """The owner of what is open."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Part] = {}

    def __contains__(self, block_id: str) -> bool:
        return block_id in self._open

    def __bool__(self) -> bool:
        return bool(self._open)

    def delta(self, event: StreamEvent) -> Chunks | None:
        """The chunk for a delta of an open part; `None` for every other event. The hot path."""
        part = self._open.get(event.id)
        if part is None or part.told_by is not type(event):
            return None
        part.empty = False
        return [part.prefix + text_suffix(event.delta)]  # type: ignore[attr-defined]

    def open_text(self, block_id: str, ts: int | None, **mobox: JSON) -> Chunks:
        return self._begin(_Part("text", block_id, TextDelta, mobox), ts)

    def open_reasoning(
        self,
        block_id: str,
        ts: int | None,
        told_by: type[StreamEvent] = ThinkingDelta,
        **mobox: JSON,
    ) -> Chunks:
        return self._begin(_Part("reasoning", block_id, told_by, mobox), ts)

    def write(self, block_id: str, text: str, between: str = "") -> Chunks:
        """More of an open part; `between` goes in front unless it is the first."""
        if not text:
            return []
        part = self._open[block_id]
        text = text if part.empty else between + text
        part.empty = False
        return [part.prefix + text_suffix(text)]

    def close(
        self, block_id: str, ts: int | None, provider: dict[str, JSON] | None = None
    ) -> Chunks:
        part = self._open.pop(block_id)
        if part.kind == "text":
            return [chunk("text-end", id=part.id)]
        metadata: dict[str, JSON] = {"mobox": part.mobox}
        if ts is not None and part.started is not None:
            metadata["mobox"] = {**part.mobox, "durationMs": ts - part.started}
        vendors = {name: bag for name, bag in (provider or {}).items() if isinstance(bag, dict)}
        return [chunk("reasoning-end", id=part.id, providerMetadata=vendors | metadata)]

    def close_all(self, ts: int | None) -> Chunks:
        return [end for block_id in list(self._names()) for end in self.close(block_id, ts)]

    def reopen(self) -> Chunks:
        """The starts of what is open, for a response that begins here."""
        return [part.start() for part in self._open.values()]

    def _names(self) -> Iterator[str]:
        return (part.id for part in self._open.values())

    def _begin(self, part: _Part, ts: int | None) -> Chunks:
        part.started = ts
        self._open[part.id] = part
        return [part.start()]
