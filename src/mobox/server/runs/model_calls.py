"""The routes for the recorded model calls of a run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import ModelCallNotFound, NotPermitted
from mobox.models.recorded_calls import ModelCall, list_calls, read_call
from mobox.server.auth.principal import owner_of, sees_details
from mobox.server.services import Services, json_response
from mobox.settings import MODELS
from mobox.storage.log import Run
from mobox.supervisor.agent_files import SECRET, Redaction, without_tokens


class ModelCallList(Struct, kw_only=True):
    """The recorded model calls of a run."""

    recording: bool
    """Whether this server records calls."""
    calls: list[ModelCall]
    more: bool
    """Whether there are more than are listed."""


async def list_model_calls(request: Request, services: Services) -> Response:
    """The calls without their bodies."""
    run = await _run(request, services)
    calls, more = await asyncio.to_thread(list_calls, _cassette(services, run))
    recording = services.settings.record_models
    return json_response(ModelCallList(recording=recording, calls=calls, more=more))


async def read_model_call(request: Request, services: Services) -> Response:
    """The bodies of one call: prompts are for those who may see raw lines and stderr."""
    if not sees_details(request, services.settings):
        raise NotPermitted("operate")
    run = await _run(request, services)
    name = request.path_params["n"]
    # Python refuses to parse a number of thousands of digits.
    number = int(name) if re.fullmatch("[0-9]{1,9}", name) else 0
    redact = _redaction(services, run)
    bodies = await asyncio.to_thread(read_call, _cassette(services, run), number, redact)
    if bodies is None:
        raise ModelCallNotFound(name[:20])
    return json_response(bodies)


async def _run(request: Request, services: Services) -> Run:
    return await services.storage.run(owner_of(request), request.path_params["run_id"])


def _cassette(services: Services, run: Run) -> Path:
    return services.settings.data / MODELS / f"{run.id}.jsonl"


def _redaction(services: Services, run: Run) -> Callable[[str], str]:
    """Removes what an agent has in its variables, tokens, and the keys of providers."""
    agent = next((each for each in services.supervisor.catalog if each.id == run.agent), None)
    of_agent = Redaction(agent) if agent is not None else without_tokens
    keys = [key for key in services.models.secrets() if len(key) >= SECRET]

    def redact(text: str) -> str:
        for key in keys:
            text = text.replace(key, "[key]").replace(json.dumps(key)[1:-1], "[key]")
        return of_agent(text)

    return redact
