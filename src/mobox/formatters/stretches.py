"""Deltas that come one after the other: nine of ten entries. They are told together, and fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from mobox.entries import Deltas, Entries
from mobox.events import LogEntry, StreamEvent

__all__ = ["NO_STRETCH", "InStretches", "Stretch"]

Documents = list[bytes]
Stretch = tuple[str | None, type[StreamEvent] | None, Callable[[list[str]], Documents]]
"""The id and the class of the deltas that go on with what was told last, and how they are told."""


def _nothing(_more: list[str]) -> Documents:
    return []


NO_STRETCH: Stretch = (None, None, _nothing)


class InStretches(Protocol):
    """A formatter that tells an entry by `_write`, unless it is more of the same."""

    _stretch: Stretch

    def _write(self, entry: LogEntry) -> Documents: ...

    def _stretch_after(self, told: StreamEvent) -> Stretch:
        """What the next event is, if it is more of the same, and how it is told."""

    def format(self, entry: LogEntry) -> Documents:
        """The documents that tell `entry`."""
        return self.format_all((entry,))

    def format_all(self, entries: Iterable[LogEntry]) -> Documents:
        """`format` for the entries of one read."""
        if isinstance(entries, Entries):
            return self._format_pieces(entries)
        documents: Documents = []
        own, delta_class, tell = self._stretch
        more: list[str] = []
        for entry in entries:
            told = entry.event
            if type(told) is delta_class and told.id == own:
                more.append(told.delta)  # type: ignore[attr-defined]
                continue
            if more:
                documents += tell(more)
                more = []
            documents += self._write(entry)
            own, delta_class, tell = self._stretch = self._stretch_after(told)
        return documents + tell(more) if more else documents

    def _format_pieces(self, entries: Entries) -> Documents:
        """The same, of deltas that were gathered already."""
        documents: Documents = []
        for place, piece in entries.placed():
            if isinstance(piece, Deltas):
                documents += self._format_deltas(entries, place, piece)
            else:
                documents += self.format_all((entries.entry(place, piece),))
        return documents

    def _format_deltas(self, entries: Entries, place: int, piece: Deltas) -> Documents:
        documents: Documents = []
        told = 0
        for delta in piece.events():  # until they are more of the same
            own, delta_class, tell = self._stretch
            if delta_class is piece.delta_class and own == piece.id:
                return documents + tell(piece.deltas[told:])
            documents += self.format_all((entries.entry(place + told, delta),))
            told += 1
        return documents
