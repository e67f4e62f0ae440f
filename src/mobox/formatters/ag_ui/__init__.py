"""AG-UI: `@ag-ui/client`, CopilotKit and everything else that reads its events.

A route needs of this package:

- `AGUIFormatter(message_id, profile, thread_id=…, run_id=…, history=…)`: `message_id` is our run's
  id, `run_id` the client's for this response, `history` the messages of the thread before this run,
  made by `user_message` and `snapshot`. `format`, `pause` and `resume` are those of `Formatter`;
  `resume` is RUN_STARTED, MESSAGES_SNAPSHOT and all open blocks, for a client that joins or
  continues; `pause` ends a response that waits, and repeats the end of a run that has ended.
- `snapshot(message, profile)`: the stored messages of one run; `user_message(message)`.
- `connect(messages, …)`: the whole response for a thread without an active run.
- `profile_for(protocol_version)`: the profile of a request.
- `wire_id(run, id)` and `own_id(wire)`: ids of messages, calls and interrupts on the wire.
"""

from __future__ import annotations

from mobox.formatters.ag_ui.documents import DEFAULT, PROFILES, own_id, profile_for, wire_id
from mobox.formatters.ag_ui.formatter import AGUIFormatter
from mobox.formatters.ag_ui.snapshot import AGUIMessage, connect, snapshot, user_message

__all__ = [
    "DEFAULT",
    "PROFILES",
    "AGUIFormatter",
    "AGUIMessage",
    "connect",
    "own_id",
    "profile_for",
    "snapshot",
    "user_message",
    "wire_id",
]
