"""The rows of the table of routes that are about one run."""

from __future__ import annotations

from typing import Final

from mobox.delivery.sse import STREAM
from mobox.server.openapi import Parameter, Route
from mobox.server.run_events import FormatList, Stderr

__all__ = ["RUN_ROUTES"]

_READING: Final = (
    Parameter(
        name="after",
        description="The `id` of the last event that was read, `0` for the beginning; an entry's "
        "`seq` alone is after all of it.",
    ),
    Parameter(
        name="live",
        description="`sse`: go on until the run ends; `off`: only what there is now.",
    ),
    Parameter(
        name="Last-Event-ID",
        place="header",
        description="What `EventSource` says when it comes back; it counts more than `after`.",
    ),
)
_PLACES: Final = (
    "Every event has an `id`, `<seq>.<k>`: it is the k-th that tells entry `seq` of the log. To go "
    "on after it, hand it back.\n\n"
    "A cursor that names no place is 400 `bad_cursor`, with the `tail` of the log; a log that was "
    "deleted is 410; 204 is nothing new, and with `x-mobox-status: done` there will be nothing."
)

RUN_ROUTES: Final[dict[str, Route]] = {
    "runs.events": Route(
        method="GET",
        path="/api/runs/{run_id}/events",
        scope="read",
        summary="Read what happened in a run, in any format",
        description=_PLACES,
        parameters=(
            Parameter(
                name="format",
                description="As `/api/formats` names them; `canonical` unless told.",
            ),
            Parameter(name="profile", description="The format's default unless told."),
            *_READING,
            Parameter(name="ticket", description="One of `POST /api/tickets`, instead of a key."),
        ),
        responses={200: STREAM, 204: None},
        tags=("Runs",),
    ),
    "runs.inspect": Route(
        method="GET",
        path="/api/runs/{run_id}/inspect",
        scope="read",
        summary="Read how it came to be",
        description="Each event is one entry of the log: `{seq, id, ts, event, lines, frames}`. "
        "`lines` are what the agent wrote, `{n, firstSeq, lastSeq, line}`, at the first entry that "
        "was parsed from them; `frames` are the documents that tell the entry, by format.\n\n"
        + _PLACES,
        parameters=(
            Parameter(
                name="format",
                description="`name` or `name:profile`, several with commas; all unless told.",
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
        summary="Read what the agent wrote to stderr",
        description="The last 64 KiB of each execution of the agent, a leg, that has ended and "
        "wrote something, without the secrets that it was given. What a terminal would obey is "
        "shown by its number.",
        responses={200: Stderr},
        tags=("Runs",),
    ),
    "runs.formats": Route(
        method="GET",
        path="/api/formats",
        scope="read",
        summary="List the formats",
        description="What a run can be told in, and for which clients; the first profile is the "
        "one that is meant where none is named.",
        responses={200: FormatList},
        tags=("Runs",),
    ),
}
"""By who answers: a group of routes and its method."""
