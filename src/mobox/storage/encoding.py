"""Encodes events for databases: as JSON lists, one for each append.

Consecutive deltas of a block become one item, with a list of their texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import msgspec

from mobox.entries import AnyDeltas, Deltas, Piece, gathered, spread
from mobox.errors import CorruptLog
from mobox.events import AnyEvent, StreamEvent, decode

__all__ = ["EVENTS_PER_ROW", "decode_pieces", "encode_events", "regathered"]

EVENTS_PER_ROW = 256
"""A longer append becomes several rows, so that reading a page decodes little more than it."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[list[AnyEvent | AnyDeltas]]).decode
_decode_raw = msgspec.json.Decoder(list[list[msgspec.Raw]]).decode
_decode_deltas: Callable[[msgspec.Raw], Deltas] = msgspec.json.Decoder(AnyDeltas).decode


def encode_events(events: Sequence[StreamEvent]) -> list[tuple[int, bytes]]:
    """The events as rows: how many, and their JSON."""
    if len(events) == 1:  # a streamed delta
        return [(1, _encode(events))]
    rows = (events[i : i + EVENTS_PER_ROW] for i in range(0, len(events), EVENTS_PER_ROW))
    return [(len(row), _encode(gathered(row))) for row in rows]


def regathered(rows: bytes) -> bytes:
    """The events of consecutive rows, joined with commas, encoded as one row."""
    return _encode(gathered(spread(decode_pieces(rows))))


def decode_pieces(rows: bytes) -> list[Piece]:
    """The events of consecutive rows, joined with commas: decoded at once."""
    lists = b"[%b]" % rows
    try:
        return list(chain.from_iterable(_decode(lists)))
    except msgspec.DecodeError:
        return _foreign_pieces(lists)


def _foreign_pieces(lists: bytes) -> list[Piece]:
    """The events of another version: unknown ones become RAW, as everywhere.

    The contents of gathered deltas are not checked: a version that stores them in another form has
    another name for them.
    """
    try:
        pieces = list(chain.from_iterable(_decode_raw(lists)))
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not lists of events: {error}: {lists[:80]!r}") from error
    return list(map(_foreign_piece, pieces))


def _foreign_piece(piece: msgspec.Raw) -> Piece:
    try:
        return _decode_deltas(piece)
    except msgspec.DecodeError:
        return decode(b'{"seq":0,"id":0,"ts":null,"event":%b}' % bytes(piece)).event
