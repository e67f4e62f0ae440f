"""The route for recordings."""

from __future__ import annotations

from typing import Final

from mobox.delivery.sse import STREAM
from mobox.server.endpoint import Route
from mobox.server.openapi import Parameter
from mobox.server.recordings.routes import read_recording

RECORDINGS: Final = (
    Route(
        method="POST",
        path="/api/recordings",
        handler=read_recording,
        scope="read",
        summary="Look at a recording",
        description="The output of an agent, an SSE body of a model's API, a cassette or a "
        "downloaded log, as the body. Nothing is stored. The first event is "
        '`{"recording": {kind, framework, detected, frameworks, prompt}}`, the others are rows as '
        "those of `/api/runs/{run_id}/inspect`.",
        parameters=(
            Parameter("framework", "The framework that it is of; default: detected."),
            Parameter("format", "`name` or `name:profile`, separated by commas; default: all."),
        ),
        forms={"application/octet-stream": {"type": "string", "format": "binary"}},
        limit="max_file",
        responses={200: STREAM},
        tag="Runs",
    ),
)
