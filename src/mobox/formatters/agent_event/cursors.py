"""Where in a session a client goes on that tells the last `eventIndex` it has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mobox.errors import BadCursor

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """The first run of a session that a client may not have whole."""

    run: int
    """Which of the session's runs, from 0; the last, which may go on, if the client has all."""
    first_event_index: int
    """Where this run's events begin."""


def place_of(last_event_index: int, counts: Sequence[int]) -> Place:
    """Where a client goes on; `counts` are how many events each run of its session has so far.

    -1 is a client that has none. One that has more than there is, has it from elsewhere.
    """
    starts = list(accumulate(counts, initial=0))
    if not -1 <= last_event_index < starts[-1]:
        raise BadCursor(last_event_index, starts[-1] - 1)
    ends = enumerate(starts[1:])
    run = next((n for n, end in ends if last_event_index + 1 < end), max(0, len(counts) - 1))
    return Place(run, starts[run])
