"""Entries of a log that follow each other, made where they are asked for.

Nine of ten events are deltas of the block that speaks. A store keeps those of a block as one, and
who tells them may take them as one: most of them are then never made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import ClassVar, TypeAlias, overload

from msgspec import Struct

from mobox.events import LogEntry, StreamEvent, TextDelta, ThinkingDelta, ToolUseDelta

__all__ = [
    "NO_ENTRIES",
    "AnyDeltas",
    "Deltas",
    "Entries",
    "Numbers",
    "Piece",
    "TextDeltas",
    "ThinkingDeltas",
    "ToolUseDeltas",
    "gathered",
    "spread",
]

AnyDelta: TypeAlias = TextDelta | ThinkingDelta | ToolUseDelta


class Deltas(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """Deltas of one block, one after the other."""

    delta_class: ClassVar[type[AnyDelta]]

    deltas: list[str]
    id: str | None = None
    scope: tuple[str, ...] = ()

    def events(self) -> Iterator[AnyDelta]:
        """What it stands for."""
        make, id_, scope = self.delta_class, self.id, self.scope
        return (make(id=id_, scope=scope, delta=delta) for delta in self.deltas)

    def cut(self, start: int, stop: int) -> Deltas:
        """Some of them."""
        return type(self)(self.deltas[start:stop], self.id, self.scope)


class TextDeltas(Deltas, frozen=True, tag="text_deltas"):
    """More of an answer block."""

    delta_class = TextDelta


class ThinkingDeltas(Deltas, frozen=True, tag="thinking_deltas"):
    """More of a reasoning block."""

    delta_class = ThinkingDelta


class ToolUseDeltas(Deltas, frozen=True, tag="tool_use_deltas"):
    """More of a tool call's input."""

    delta_class = ToolUseDelta


AnyDeltas: TypeAlias = TextDeltas | ThinkingDeltas | ToolUseDeltas
Piece: TypeAlias = StreamEvent | Deltas
Numbers: TypeAlias = tuple[Sequence[int], Sequence[int | None]]
"""The ids and the times of entries."""

_GATHERED: dict[type[AnyDelta], type[Deltas]] = {
    TextDelta: TextDeltas,
    ThinkingDelta: ThinkingDeltas,
    ToolUseDelta: ToolUseDeltas,
}


def gathered(events: Iterable[StreamEvent]) -> list[Piece]:
    """The events, with deltas of a block that follow each other as one."""
    pieces: list[Piece] = []
    last: Deltas | None = None
    for event in events:
        if not isinstance(event, AnyDelta) or event.provider is not None:
            last = None
            pieces.append(event)
            continue
        kind = _GATHERED[type(event)]
        if type(last) is kind and last.id == event.id and last.scope == event.scope:
            last.deltas.append(event.delta)
        else:
            last = kind([event.delta], event.id, event.scope)
            pieces.append(last)
    return pieces


def spread(pieces: Iterable[Piece]) -> Iterator[StreamEvent]:
    """The events that were gathered."""
    each = (piece.events() if isinstance(piece, Deltas) else (piece,) for piece in pieces)
    return chain.from_iterable(each)


def _length(piece: Piece) -> int:
    return len(piece.deltas) if isinstance(piece, Deltas) else 1


class Entries(Sequence[LogEntry]):
    """Some entries, up to number `last`; their `numbers` are asked for where one is made."""

    __slots__ = ("_length", "_make_numbers", "_numbers", "first", "pieces")

    def __init__(self, last: int, pieces: list[Piece], numbers: Callable[[], Numbers]) -> None:
        self._length = sum(map(_length, pieces))
        self.first = last - self._length + 1
        self._make_numbers = numbers
        self._numbers: Numbers | None = None
        self.pieces = pieces

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[LogEntry]:
        seqs = range(self.first, self.first + self._length)
        return map(LogEntry, seqs, *self.numbers, spread(self.pieces))

    @overload
    def __getitem__(self, place: int) -> LogEntry: ...
    @overload
    def __getitem__(self, place: slice) -> Entries: ...
    def __getitem__(self, place: int | slice) -> LogEntry | Entries:
        if isinstance(place, slice):
            start, stop, _ = place.indices(self._length)
            is_all = (start, stop) == (0, self._length)
            return self if is_all else self._cut(start, max(start, stop))
        place = range(self._length)[place]
        return next(iter(self._cut(place, place + 1)))

    @property
    def numbers(self) -> Numbers:
        """The ids and the times."""
        if self._numbers is None:
            self._numbers = self._make_numbers()
        return self._numbers

    def entry(self, place: int, event: StreamEvent) -> LogEntry:
        """The entry at a place, for who knows what it tells."""
        ids, times = self.numbers
        return LogEntry(self.first + place, ids[place], times[place], event)

    def placed(self) -> Iterator[tuple[int, Piece]]:
        """The pieces, each with the place of its first entry."""
        place = 0
        for piece in self.pieces:
            yield place, piece
            place += _length(piece)

    def _cut(self, start: int, stop: int) -> Entries:
        def numbers() -> Numbers:
            ids, times = self.numbers
            return ids[start:stop], times[start:stop]

        pieces: list[Piece] = []
        for place, piece in self.placed():
            if not start - _length(piece) < place < stop:
                continue
            if isinstance(piece, Deltas):
                pieces.append(piece.cut(max(0, start - place), stop - place))
            else:
                pieces.append(piece)
        return Entries(self.first + stop - 1, pieces, numbers)


NO_ENTRIES = Entries(0, [], lambda: ((), ()))
