"""Fast path for consecutive deltas, nine of ten entries: they are formatted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from mobox.events import LogEntry, StreamEvent
from mobox.events.entries import Deltas, Entries, Texts
from mobox.formatters.pieces import LINE_END

Documents = list[bytes]
FormatDeltas = Callable[[Sequence[str], bytes], bytes]
"""Formats the texts of deltas into documents, with a separator between each two."""
FastPath = tuple[str | None, type[StreamEvent] | None, FormatDeltas]
"""The id and the class of the deltas that continue the last block, and how they are formatted."""


def _nothing(_more: Sequence[str], _between: bytes) -> bytes:
    return b""


NO_FAST_PATH: FastPath = (None, None, _nothing)


class DeltaFastPath(Protocol):
    """A formatter that formats an event by `_write`, unless it is another delta of a block."""

    _fast_path: FastPath

    def _write(self, event: StreamEvent, ts: int | None) -> Documents: ...

    def _fast_path_after(self, event: StreamEvent) -> FastPath:
        """The fast path for deltas that continue the block of `event`."""

    def _fast_path_into(self, _kind: type[StreamEvent], _block_id: str | None) -> FastPath:
        """The fast path for the deltas of a block, if the first one needs no other handling."""
        return NO_FAST_PATH

    def format(self, entry: LogEntry) -> Documents:
        """The documents of `entry`."""
        return list(filter(None, self._format((entry,), LINE_END)))

    def format_joined(self, entries: Sequence[LogEntry], between: bytes) -> bytes:
        """The documents of the entries of one read, with `between` between each two."""
        if type(entries) is Entries:  # isinstance with an abstract class takes far longer
            return between.join(filter(None, self._format_pieces(entries, between)))
        if len(entries) == 1:  # most reads of a live run, and most of them are a delta
            event = entries[0].event
            own, delta_class, format_deltas = self._fast_path
            if type(event) is delta_class and event.id == own:
                return format_deltas((event.delta,), between)  # type: ignore[attr-defined]
        return between.join(filter(None, self._format(entries, between)))

    def _format(self, entries: Iterable[LogEntry], between: bytes) -> Documents:
        documents: Documents = []
        own, delta_class, format_deltas = self._fast_path
        more: list[str] = []
        for entry in entries:
            event = entry.event
            if type(event) is delta_class and event.id == own:
                more.append(event.delta)  # type: ignore[attr-defined]
                continue
            if more:
                documents.append(format_deltas(more, between))
                more = []
            documents += self._write(event, entry.ts)
            own, delta_class, format_deltas = self._fast_path = self._fast_path_after(event)
        return [*documents, format_deltas(more, between)] if more else documents

    def _format_pieces(self, entries: Entries, between: bytes) -> Documents:
        """The same, for deltas that are grouped already."""
        documents: Documents = []
        for place, piece, texts in entries.placed():
            if isinstance(piece, Deltas):
                documents += self._format_deltas(entries, place, piece, texts, between)
            else:
                documents += self._write(piece, entries.times[place])
                self._fast_path = self._fast_path_after(piece)
        return documents

    def _format_deltas(
        self, entries: Entries, place: int, piece: Deltas, texts: Texts, between: bytes
    ) -> Documents:
        if not self._goes_on_with(piece):
            self._fast_path = self._fast_path_into(piece.delta_class, piece.id)
        if self._goes_on_with(piece):
            return [self._fast_path[2](texts, between)]
        documents: Documents = []
        for count, delta in enumerate(piece.events(), 1):  # one by one until the fast path applies
            documents += self._write(delta, entries.times[place + count - 1])
            self._fast_path = self._fast_path_after(delta)
            if self._goes_on_with(piece):
                rest = texts[count:]
                return [*documents, self._fast_path[2](rest, between)] if rest else documents
        return documents

    def _goes_on_with(self, piece: Deltas) -> bool:
        own, delta_class, _ = self._fast_path
        return delta_class is piece.delta_class and own == piece.id
