"""The rows of the table of routes for runs."""

from __future__ import annotations

from typing import Final

from mobox.delivery.sse import STREAM
from mobox.server.openapi import Parameter, Route
from mobox.server.run_events import FormatList, Stderr

__all__ = ["RUN_ROUTES"]

_READING: Final = (
    Parameter(
        name="after",
        description="The cursor: the `id` of the last event that was read, `0` for the start; a "
        "`seq` alone is after all events of that entry.",
    ),
    Parameter(
        name="live",
        description="`sse`: stream until the run ends; `off`: only what is stored now.",
    ),
    Parameter(
        name="Last-Event-ID",
        place="header",
        description="Sent by `EventSource` when it reconnects; takes precedence over `after`.",
    ),
)
_PLACES: Final = (
    "Every event has an `id`, `<seq>.<k>`: the k-th event of entry `seq` of the log. To resume "
    "after it, send it as the cursor.\n\n"
    "An invalid cursor is 400 `bad_cursor`, with the `tail` of the log; a deleted run is 410; 204 "
    "means nothing new, and with `x-mobox-status: done` that there will be nothing more."
)

RUN_ROUTES: Final[dict[str, Route]] = {
    "runs.events": Route(
        method="GET",
        path="/api/runs/{run_id}/events",
        scope="read",
        summary="Read the events of a run, in any format",
        description=_PLACES,
        parameters=(
            Parameter(
                name="format",
                description="One of `/api/formats`; default `canonical`.",
            ),
            Parameter(name="profile", description="Default: the format's first profile."),
            *_READING,
            Parameter(
                name="ticket", description="A ticket of `POST /api/tickets`, instead of a key."
            ),
        ),
        responses={200: STREAM, 204: None},
        tags=("Runs",),
    ),
    "runs.inspect": Route(
        method="GET",
        path="/api/runs/{run_id}/inspect",
        scope="read",
        summary="Inspect a run: raw lines, events and frames",
        description="Each event is one entry of the log: `{seq, id, ts, event, lines, frames}`. "
        "`lines` are the agent's raw lines, `{n, firstSeq, lastSeq, line}`, at the first entry "
        "that was parsed from them; `frames` are the entry's documents, by format.\n\n" + _PLACES,
        parameters=(
            Parameter(
                name="format",
                description="`name` or `name:profile`, separated by commas; default: all.",
            ),
            *_READING,
        ),
        responses={200: STREAM, 204: None},
        tags=("Runs",),
    ),
    "runs.stderr": Route(
        method="GET",
        path="/api/runs/{run_id}/stderr",
        scope="read",
        summary="Read the agent's stderr",
        description="The last 64 KiB of each attempt (`leg`) that has ended and wrote something, "
        "with the values of its secrets removed and control characters escaped.",
        responses={200: Stderr},
        tags=("Runs",),
    ),
    "runs.formats": Route(
        method="GET",
        path="/api/formats",
        scope="read",
        summary="List formats",
        description="The formats that a run can be read in, with their profiles; the first profile "
        "is the default.",
        responses={200: FormatList},
        tags=("Runs",),
    ),
}
"""By handler: a group of routes and its method."""
