"""The routes for lists of runs and for recorded model calls: a part of the table of routes."""

from __future__ import annotations

from typing import Final

from mobox.models.recorded_calls import ModelCallBodies
from mobox.server.endpoint import Route
from mobox.server.openapi import Parameter
from mobox.server.parameters import BEFORE, LIMIT
from mobox.server.runs import listing, model_calls

RUN_ROUTES: Final = (
    Route(
        method="GET",
        path="/api/runs",
        handler=listing.list_runs,
        scope="read",
        summary="List runs",
        description="The runs of all chats, with their tokens and cost where these are known. "
        "`slowest` has only runs that have ended.",
        parameters=(
            Parameter("order", "newest (default), slowest or dearest."),
            Parameter("outcome", "running, waiting, done, failed or stopped; default: all."),
            Parameter("agent", "The id of an agent; default: all."),
            BEFORE,
            LIMIT,
        ),
        responses={200: listing.RunList},
        tag="Runs",
    ),
    Route(
        method="GET",
        path="/api/runs/{run_id}/models",
        handler=model_calls.list_model_calls,
        scope="read",
        summary="List the recorded model calls of a run",
        description="What `--record-models` has stored, without requests and responses.",
        responses={200: model_calls.ModelCallList},
        tag="Runs",
    ),
    Route(
        method="GET",
        path="/api/runs/{run_id}/models/{n}",
        handler=model_calls.read_model_call,
        scope="read",
        summary="Read a recorded model call",
        description="Its request and response as text, without credentials; long ones are "
        "shortened. `n` is from the list. Without the details of errors (`error_details`) it "
        "requires the scope `operate`.",
        responses={200: ModelCallBodies},
        tag="Runs",
    ),
)
