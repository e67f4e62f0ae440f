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

from mobox.formatters.agent_event.formatter import AgentEventFormatter
from mobox.formatters.agent_event.numbering import DEFAULT, PROFILES, Place, place_of

__all__ = ["DEFAULT", "PROFILES", "AgentEventFormatter", "Place", "place_of"]
