"""The open text and reasoning parts of one message, and how long they have been open."""

from __future__ import annotations

from mobox.events import JSON, StreamEvent
from mobox.formatters.ai_sdk.chunks import chunk, delta_prefix, encode

__all__ = ["Parts", "vendors"]

Chunks = list[bytes]


class _Part:
    """One open part; `kind` is the first half of its chunks' names."""

    __slots__ = ("delta_class", "empty", "id", "kind", "mobox", "prefix", "started")

    def __init__(
        self, kind: str, block_id: str, delta_class: type[StreamEvent], mobox: dict[str, JSON]
    ) -> None:
        self.kind = kind
        self.id = block_id
        self.mobox = mobox
        self.delta_class = delta_class
        self.prefix = delta_prefix(f"{kind}-delta", "id", block_id, "delta")
        self.started: int | None = None
        self.empty = True

    def start(self) -> bytes:
        metadata = {"mobox": self.mobox}
        return chunk(f"{self.kind}-start", id=self.id, providerMetadata=metadata)


class Parts:
    """The owner of what is open."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Part] = {}
        self.find = self._open.get
        """The open part of that id; `None` if there is none."""

    def __contains__(self, block_id: str | None) -> bool:
        return block_id in self._open

    def __bool__(self) -> bool:
        return bool(self._open)

    def open(
        self, kind: str, delta_class: type[StreamEvent], mobox: dict[str, JSON], ts: int | None
    ) -> Chunks:
        """Open the part that `mobox` names; deltas of the type `delta_class` continue it."""
        part = _Part(kind, mobox["id"], delta_class, mobox)
        part.started = ts
        self._open[part.id] = part
        return [part.start()]

    def write(self, block_id: str | None, text: str, between: str = "") -> Chunks:
        """A delta of an open part; `between` precedes every delta but the first."""
        if not text:
            return []
        part = self._open[block_id]
        text = text if part.empty else between + text
        part.empty = False
        return [part.prefix + encode(text) + b"}"]

    def close(
        self, block_id: str | None, ts: int | None, provider: dict[str, JSON] | None = None
    ) -> Chunks:
        """End a part, with its duration and the vendor's state."""
        part = self._open.pop(block_id)
        if part.kind == "text":
            return [chunk("text-end", id=part.id)]
        metadata: dict[str, JSON] = {"mobox": part.mobox}
        if ts is not None and part.started is not None:
            metadata["mobox"] = {**part.mobox, "durationMs": ts - part.started}
        return [chunk("reasoning-end", id=part.id, providerMetadata=vendors(provider) | metadata)]

    def close_all(self, ts: int | None) -> Chunks:
        """End all open parts, in the order in which they were opened."""
        return [end for block_id in list(self._open) for end in self.close(block_id, ts)]

    def reopen(self) -> Chunks:
        """The starts of all open parts, for a response that starts here."""
        return [part.start() for part in self._open.values()]


def vendors(provider: dict[str, JSON] | None) -> dict[str, JSON]:
    """The vendors' state in the only form that the client accepts: maps, by vendor."""
    return {name: bag for name, bag in (provider or {}).items() if isinstance(bag, dict)}
