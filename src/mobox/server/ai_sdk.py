"""The routes of the AI SDK's `useChat`: send a message, resume its stream, stop, answer.

Rule 1: a response only reads a log: it may start late, twice or not at all, and the run continues.
Rule 2: an answer without an input request is an error, never an empty stream.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.formatters import get_formatter
from mobox.formatters.ai_sdk import HEADERS, REPLAYS_FINISHED
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.actions import AnswerBody, StopBody, latest_run, run_of_chat
from mobox.server.auth.authentication import authenticator_of
from mobox.server.auth.principal import owner_of
from mobox.server.eventstream import EventStream, frames
from mobox.server.formats import AI_SDK, served_format
from mobox.server.services import Services, json_response, read_as, read_json
from mobox.settings import now_ms
from mobox.storage.log import Run

JUST_ENDED: Final = 30_000
"""Milliseconds for which an ended run is still replayed by a request for the active one: it may
have ended between the page's two requests, for the history and for the stream."""


async def post_message(request: Request, services: Services) -> ASGIApp:
    """A message, an edit, a retry or an answer; the response streams the agent's output."""
    owner = owner_of(request)
    wanted = read_request(await read_json(request), request.headers.get("idempotency-key"))
    profile = requested_profile(request, services)
    continued = await authenticator_of(request).rate_limit.submit(
        owner, wanted, lambda: services.actions.submit(owner, wanted)
    )
    return _stream(services, continued.run, profile, continued.after)


async def resume_stream(request: Request, services: Services) -> ASGIApp:
    """The message of the active run, from its start; 204 if there is none."""
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    profile = requested_profile(request, services)
    run_id = request.query_params.get("run")
    if run_id is not None:
        run = await run_of_chat(services.storage, owner, chat_id, run_id)
        return _stream(services, run, profile)
    latest = await latest_run(services.storage, owner, chat_id)
    is_strict = request.query_params.get("strict") == "1"
    if latest is None or not _is_streamed(latest, profile, is_strict):
        return Response(status_code=204)
    return _stream(services, latest, profile)


async def stop_run(request: Request, services: Services) -> Response:
    """Stop a run; its readers see how it ends."""
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    body = await read_as(request, StopBody)
    state = await services.actions.stop(owner, chat_id, body.run_id, body.active_stream_id)
    return json_response(state, 200 if state.run_id is None else 202)


async def answer_run(request: Request, services: Services) -> Response:
    """Answer an input request; the agent's further output is in the stream."""
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    body = await read_as(request, AnswerBody)
    return json_response(await services.actions.answer(owner, chat_id, body), 202)


def requested_profile(request: Request, services: Services) -> str | None:
    """The requested profile, if any; an unknown one raises `UnknownProfile`."""
    profile = request.query_params.get("profile")
    if profile is not None:
        get_formatter(AI_SDK, "", profile)
    return served_format(services.settings, AI_SDK, profile).profile


def _is_streamed(run: Run, profile: str | None, is_strict: bool) -> bool:
    if run.status != "done":
        return True
    if is_strict or profile not in REPLAYS_FINISHED:
        return False
    return now_ms() - (run.ended_at or 0) < JUST_ENDED


def _stream(services: Services, run: Run, profile: str | None, after: int = 0) -> EventStream:
    batches = frames(services.storage, run.id, get_formatter(AI_SDK, run.id, profile), after)
    return EventStream(batches, services.heartbeats, {**HEADERS, "x-mobox-run": run.id})
