"""The routes for recordings."""

from __future__ import annotations

from typing import Final

from mobox.delivery.sse import STREAM
from mobox.server.endpoint import Route
from mobox.server.openapi import Parameter
from mobox.server.recordings.keeping import KeptRecording, keep_recording
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
    Route(
        method="POST",
        path="/api/recordings/chats",
        handler=keep_recording,
        scope="write",
        summary="Keep a recording as a chat",
        description="The same body. Stores a chat with the user's message, where the recording has "
        "it, and a run with the log of the recording. At most 100,000 events.",
        parameters=(
            Parameter("framework", "The framework that it is of; default: detected."),
            Parameter("name", "The name of the file: the message, if the recording has none."),
        ),
        forms={"application/octet-stream": {"type": "string", "format": "binary"}},
        limit="max_file",
        responses={201: KeptRecording},
        tag="Runs",
    ),
)
