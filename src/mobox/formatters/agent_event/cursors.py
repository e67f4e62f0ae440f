"""Finds where in a session a client continues, by the last `eventIndex` that it has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mobox.errors import InvalidCursor

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """The first run of a session that a client may not have completely."""

    run: int
    """The index of the run in the session; that of the last run if the client has all events."""
    first_event_index: int
    """The index of this run's first event."""


def place_of(last_event_index: int, counts: Sequence[int]) -> Place:
    """Where a client continues; `counts` are the numbers of events of its session's runs so far.

    -1 is a client that has none. An index past the last event belongs to another session.
    """
    starts = list(accumulate(counts, initial=0))
    if not -1 <= last_event_index < starts[-1]:
        raise InvalidCursor(last_event_index, starts[-1] - 1)
    ends = enumerate(starts[1:])
    run = next((n for n, end in ends if last_event_index + 1 < end), max(0, len(counts) - 1))
    return Place(run, starts[run])
