"""Events as databases keep them: lists as JSON, a list being what one append brought."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import msgspec

from mobox.errors import CorruptLog
from mobox.events import AnyEvent, StreamEvent, decode

__all__ = ["EVENTS_PER_ROW", "decode_events", "encode_events"]

EVENTS_PER_ROW = 256
"""A longer append becomes several rows, so that a page of it needs no more than a page."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[list[AnyEvent]]).decode
_decode_raw = msgspec.json.Decoder(list[list[msgspec.Raw]]).decode


def encode_events(events: Sequence[StreamEvent]) -> list[tuple[int, bytes]]:
    """The events as JSON, a row each: how many, and what."""
    rows = (events[i : i + EVENTS_PER_ROW] for i in range(0, len(events), EVENTS_PER_ROW))
    return [(len(row), _encode(row)) for row in rows]


def decode_events(rows: bytes) -> list[StreamEvent]:
    """The events of rows that follow each other, with commas between them: one decoding for all."""
    lists = b"[%b]" % rows
    try:
        return list(chain.from_iterable(_decode(lists)))
    except msgspec.DecodeError:
        return _foreign_events(lists)


def _foreign_events(lists: bytes) -> list[StreamEvent]:
    """Another version's events: what is unknown here becomes RAW, as everywhere."""
    line = b'{"seq":0,"id":0,"ts":null,"event":%b}'
    try:
        events = list(chain.from_iterable(_decode_raw(lists)))
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not lists of events: {error}: {lists[:80]!r}") from error
    return [decode(line % bytes(event)).event for event in events]
