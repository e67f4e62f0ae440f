"""The `agent:event` contract: nine types of events, numbered over a whole session.

A delivery needs of this package:

- `AgentEventFormatter(message_id, profile, session_id=…, user_id=…, first_event_index=…,
  last_event_index=…)`: `message_id` is the run's id, `first_event_index` how many events the runs
  before it in the session have, `last_event_index` the last that the client has: those up to it
  are counted and not sent. `format` is that of `Formatter`; `pause` and `resume` return nothing,
  as a client of this contract has a session and not a response. `event_count` is the number of
  events so far: the next run's `first_event_index` is the sum.
- `place_of(last_event_index, counts)`: the run of a session from which a client continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mobox.errors import InvalidCursor
from mobox.formatters.agent_event.formatter import AgentEventFormatter
from mobox.formatters.agent_event.numbering import DEFAULT, PROFILES

# Finds where in a session a client continues, by the last `eventIndex` that it has.


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


__all__ = ["DEFAULT", "PROFILES", "AgentEventFormatter", "Place", "place_of"]
