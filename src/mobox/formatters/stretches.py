"""Deltas that come one after the other: nine of ten entries. They are told together, and fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from mobox.entries import Deltas, Entries
from mobox.events import LogEntry, StreamEvent
from mobox.formatters.pieces import LINE_END
from mobox.texts import Texts

__all__ = ["NO_STRETCH", "InStretches", "Stretch", "Tell"]

Documents = list[bytes]
Tell = Callable[[Sequence[str], bytes], bytes]
"""Makes of what deltas say the documents, with something between each two of them."""
Stretch = tuple[str | None, type[StreamEvent] | None, Tell]
"""The id and the class of the deltas that go on with what was told last, and how they are told."""


def _nothing(_more: Sequence[str], _between: bytes) -> bytes:
    return b""


NO_STRETCH: Stretch = (None, None, _nothing)


class InStretches(Protocol):
    """A formatter that tells an event by `_write`, unless it is more of the same."""

    _stretch: Stretch

    def _write(self, told: StreamEvent, ts: int | None) -> Documents: ...

    def _stretch_after(self, told: StreamEvent) -> Stretch:
        """What the next event is, if it is more of the same, and how it is told."""

    def _stretch_into(self, _kind: type[StreamEvent], _block_id: str | None) -> Stretch:
        """How deltas of a block are told that come next, where the first needs no other way."""
        return NO_STRETCH

    def format(self, entry: LogEntry) -> Documents:
        """The documents that tell `entry`."""
        return list(filter(None, self._tell((entry,), LINE_END)))

    def format_joined(self, entries: Sequence[LogEntry], between: bytes) -> bytes:
        """The documents that tell the entries of one read, with `between` between each two."""
        if type(entries) is Entries:  # to ask an abstract class by isinstance takes far longer
            return between.join(filter(None, self._tell_pieces(entries, between)))
        if len(entries) == 1:  # most reads of a run that is live, and most of them are a delta
            told = entries[0].event
            own, delta_class, tell = self._stretch
            if type(told) is delta_class and told.id == own:
                return tell((told.delta,), between)  # type: ignore[attr-defined]
        return between.join(filter(None, self._tell(entries, between)))

    def _tell(self, entries: Iterable[LogEntry], between: bytes) -> Documents:
        documents: Documents = []
        own, delta_class, tell = self._stretch
        more: list[str] = []
        for entry in entries:
            told = entry.event
            if type(told) is delta_class and told.id == own:
                more.append(told.delta)  # type: ignore[attr-defined]
                continue
            if more:
                documents.append(tell(more, between))
                more = []
            documents += self._write(told, entry.ts)
            own, delta_class, tell = self._stretch = self._stretch_after(told)
        return [*documents, tell(more, between)] if more else documents

    def _tell_pieces(self, entries: Entries, between: bytes) -> Documents:
        """The same, of deltas that were gathered already."""
        documents: Documents = []
        for place, piece, texts in entries.placed():
            if isinstance(piece, Deltas):
                documents += self._tell_deltas(entries, place, piece, texts, between)
            else:
                documents += self._write(piece, entries.times[place])
                self._stretch = self._stretch_after(piece)
        return documents

    def _tell_deltas(
        self, entries: Entries, place: int, piece: Deltas, texts: Texts, between: bytes
    ) -> Documents:
        if not self._goes_on_with(piece):
            self._stretch = self._stretch_into(piece.delta_class, piece.id)
        if self._goes_on_with(piece):
            return [self._stretch[2](texts, between)]
        documents: Documents = []
        for told, delta in enumerate(piece.events(), 1):  # one by one until there is a short way
            documents += self._write(delta, entries.times[place + told - 1])
            self._stretch = self._stretch_after(delta)
            if self._goes_on_with(piece):
                rest = texts[told:]
                return [*documents, self._stretch[2](rest, between)] if rest else documents
        return documents

    def _goes_on_with(self, piece: Deltas) -> bool:
        own, delta_class, _ = self._stretch
        return delta_class is piece.delta_class and own == piece.id
