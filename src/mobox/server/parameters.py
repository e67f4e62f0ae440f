"""Parameters that several routes have, and their documentation."""

from __future__ import annotations

from typing import Final

from mobox.formatters.ai_sdk import PROFILES
from mobox.server.openapi import Parameter
from mobox.server.paging import MOST

PROFILE: Final = Parameter(
    "profile",
    f"The client's version: {', '.join(PROFILES)} or document.",
)
LIMIT: Final = Parameter("limit", f"Maximum number of items, 1 to {MOST}.", type=int)
BEFORE: Final = Parameter("before", "The `before` cursor of the previous page.")

READING: Final = (
    Parameter(
        "after",
        "The cursor: the `id` of the last event that was read, `0` for the start; a "
        "`seq` alone is after all events of that entry.",
    ),
    Parameter("live", "`sse`: stream until the run ends; `off`: only what is stored now."),
    Parameter(
        "Last-Event-ID",
        "Sent by `EventSource` when it reconnects; takes precedence over `after`.",
        place="header",
    ),
)
CURSORS: Final = (
    "Every event has an `id`, `<seq>.<k>`: the k-th event of entry `seq` of the log. To resume "
    "after it, send it as the cursor.\n\n"
    "An invalid cursor is 400 `bad_cursor`, with the `tail` of the log; a deleted run is 410; 204 "
    "means nothing new, and with `x-mobox-status: done` that there will be nothing more."
)
