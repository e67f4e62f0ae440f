"""Consecutive entries of a log, built only when they are accessed.

Nine of ten events are deltas of the open block. A store keeps the consecutive deltas of a block as
one row, and a formatter may take them as one: most of these entries are then never built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby
from typing import ClassVar, Self, TypeAlias, overload

import msgspec
from msgspec import Raw, Struct

from mobox.errors import CorruptLog
from mobox.events import LogEntry, StreamEvent, TextDelta, ThinkingDelta, ToolUseDelta

_LINE_END = b"\n"
_BETWEEN = b",\n"
_BETWEEN_TEXTS = b'",\n"'

_encode_lines = msgspec.json.Encoder().encode_lines
_decode = msgspec.json.Decoder(list[str]).decode


class Texts(Sequence[str]):
    """A list of texts, each kept as JSON: stores and clients use it, so most are never decoded.

    No JSON text has a line end in it. A list with one line per text can therefore be split and
    formatted without decoding the texts.
    """

    __slots__ = ("_joined", "_length")

    def __init__(self, joined: bytes, length: int) -> None:
        """From JSON texts with a comma and a line end between each two."""
        self._joined = joined
        self._length = length

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        return cls(_encode_lines(texts)[:-1].replace(_LINE_END, _BETWEEN), len(texts))

    @classmethod
    def read(cls, listed: bytes) -> Texts:
        """From a JSON list; one without lines, of an earlier version, is decoded."""
        lines = listed.count(_LINE_END)
        is_in_lines = lines and lines == listed.count(_BETWEEN_TEXTS)
        if is_in_lines and listed.startswith(b'["') and listed.endswith(b'"]'):
            return cls(listed[1:-1], lines + 1)
        return cls.of(_read(listed))

    def listed(self) -> bytes:
        """A JSON list with a line for each text."""
        return b"[%b]" % self._joined

    def joined(self, between: bytes) -> bytes:
        """The JSON texts, with another separator between each two."""
        return self._joined.replace(_BETWEEN, between)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(_read(self.listed()))

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...
    def __getitem__(self, place: int | slice) -> str | Texts:
        if isinstance(place, slice):
            texts = self._joined.split(_BETWEEN)[: self._length][place]
            return Texts(_BETWEEN.join(texts), len(texts))
        return _read(self.listed())[place]


def _read(listed: bytes) -> list[str]:
    try:
        return _decode(listed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptLog(f"not a list of texts: {error}: {listed[:80]!r}") from error


AnyDelta: TypeAlias = TextDelta | ThinkingDelta | ToolUseDelta


class Deltas(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """Consecutive deltas of one block."""

    delta_class: ClassVar[type[AnyDelta]]

    deltas: Raw
    id: str | None = None
    scope: tuple[str, ...] = ()

    @classmethod
    def of(cls, texts: Texts, block_id: str | None, scope: tuple[str, ...]) -> Self:
        """Deltas with these texts."""
        return cls(Raw(texts.listed()), block_id, scope)

    @property
    def texts(self) -> Texts:
        """Their texts."""
        return Texts.read(bytes(self.deltas))

    def events(self) -> Iterator[AnyDelta]:
        """The single events that it stands for."""
        make, id_, scope = self.delta_class, self.id, self.scope
        return (make(id=id_, scope=scope, delta=delta) for delta in self.texts)

    def cut(self, start: int, stop: int) -> Deltas:
        """A slice of them."""
        return self.of(self.texts[start:stop], self.id, self.scope)


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
_MakeIds: TypeAlias = Callable[[], Sequence[int]]
_MakeTimes: TypeAlias = Callable[[], Sequence[int | None]]

_GATHERED: dict[type[AnyDelta], type[Deltas]] = {
    TextDelta: TextDeltas,
    ThinkingDelta: ThinkingDeltas,
    ToolUseDelta: ToolUseDeltas,
}


def gathered(events: Iterable[StreamEvent]) -> list[Piece]:
    """The events, with consecutive deltas of a block as one."""
    pieces: list[Piece] = []
    for block, group in groupby(events, _block_of):
        together = list(group)
        if block is None or len(together) == 1:  # a single delta is smaller and faster as it is
            pieces += together
        else:
            kind, block_id, scope = block
            texts = [delta.delta for delta in together if isinstance(delta, AnyDelta)]
            pieces.append(kind.of(Texts.of(texts), block_id, scope))
    return pieces


def _block_of(event: StreamEvent) -> tuple[type[Deltas], str | None, tuple[str, ...]] | None:
    if isinstance(event, AnyDelta) and event.provider is None:
        return _GATHERED[type(event)], event.id, event.scope
    return None


def spread(pieces: Iterable[Piece]) -> Iterator[StreamEvent]:
    """The events that were gathered."""
    each = (piece.events() if isinstance(piece, Deltas) else (piece,) for piece in pieces)
    return chain.from_iterable(each)


_ONE = Texts.of([""])
"""Stands for an event that is not a delta, and counts as one entry."""


class Entries(Sequence[LogEntry]):
    """Some entries, up to number `last`; ids and times are looked up when an entry is built."""

    __slots__ = (
        "_ids",
        "_length",
        "_make_ids",
        "_make_times",
        "_places",
        "_texts",
        "_times",
        "first",
        "pieces",
    )

    def __init__(self, last: int, pieces: list[Piece], ids: _MakeIds, times: _MakeTimes) -> None:
        self._texts = [piece.texts if isinstance(piece, Deltas) else _ONE for piece in pieces]
        *self._places, self._length = accumulate(map(len, self._texts), initial=0)
        self.first = last - self._length + 1
        self._make_ids, self._make_times = ids, times
        self._ids: Sequence[int] | None = None
        self._times: Sequence[int | None] | None = None
        self.pieces = pieces

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[LogEntry]:
        seqs = range(self.first, self.first + self._length)
        return map(LogEntry, seqs, self.ids, self.times, spread(self.pieces))

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
    def ids(self) -> Sequence[int]:
        if self._ids is None:
            self._ids = self._make_ids()
        return self._ids

    @property
    def times(self) -> Sequence[int | None]:
        if self._times is None:
            self._times = self._make_times()
        return self._times

    def placed(self) -> Iterator[tuple[int, Piece, Texts]]:
        """The pieces, each with the index of its first entry; deltas also with their texts."""
        return zip(self._places, self.pieces, self._texts, strict=True)

    def _cut(self, start: int, stop: int) -> Entries:
        pieces: list[Piece] = []
        ends = (*self._places[1:], self._length)
        for place, end, piece in zip(self._places, ends, self.pieces, strict=True):
            if not max(start, place) < min(stop, end):
                continue
            if isinstance(piece, Deltas) and not start <= place <= end <= stop:
                pieces.append(piece.cut(max(0, start - place), stop - place))
            else:
                pieces.append(piece)
        ids, times = lambda: self.ids[start:stop], lambda: self.times[start:stop]
        return Entries(self.first + stop - 1, pieces, ids, times)


NO_ENTRIES = Entries(0, [], tuple, tuple)
