"""The routes of the AI SDK's `useChat`: send a message, resume its stream, stop, answer.

Rule 1: a response only reads a log: it may start late, twice or not at all, and the run continues.
Rule 2: an answer without an input request is an error, never an empty stream. One that comes too
        late, because another page was first, gets the stream after the answer that counted.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.errors import NotFoundError
from mobox.formatters import get_formatter
from mobox.formatters.ai_sdk import HEADERS, REPLAYS_FINISHED
from mobox.formatters.ai_sdk.files import file_places
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.actions import AnswerBody, LateAnswer, StopBody, latest_run, run_of_chat
from mobox.server.auth.authentication import authenticator_of
from mobox.server.auth.principal import owner_of
from mobox.server.eventstream import EventStream, frames
from mobox.server.files.bodies import read_chat_body
from mobox.server.formats import AI_SDK, served_format
from mobox.server.services import AGENT, Services, forwarded_headers, json_response, read_as
from mobox.settings import now_ms
from mobox.storage.log import Run

JUST_ENDED: Final = 30_000
"""Milliseconds for which an ended run is still replayed by a request for the active one: it may
have ended between the page's two requests, for the history and for the stream."""


async def post_message(request: Request, services: Services) -> ASGIApp:
    """A message, an edit, a retry or an answer; the response streams the agent's output."""
    owner, profile = owner_of(request), requested_profile(request, services)
    headers = forwarded_headers(request, services.settings.forwarded_headers)
    async with read_chat_body(request, services.settings, file_places) as body:
        wanted = read_request(body.value, request.headers.get("idempotency-key"), headers)
        wanted = await body.attach(services.storage.files, owner, wanted)
    if (agent := request.scope.get(AGENT)) is not None:
        wanted = replace(wanted, agent=agent)
    continued = await authenticator_of(request).rate_limit.submit(
        owner, wanted, lambda: services.actions.submit(owner, wanted)
    )
    return stream_of_run(services, continued.run, profile, continued.after)


async def resume_stream(request: Request, services: Services) -> ASGIApp:
    """The message of the active run, from its start; 204 if there is none.

    Clients that know only a stream's id, as assistant-ui, send it in place of the chat's.
    """
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    profile = requested_profile(request, services)
    run_id = request.query_params.get("run")
    if run_id is not None:
        run = await run_of_chat(services.storage, owner, chat_id, run_id)
        return stream_of_run(services, run, profile)
    latest = await latest_run(services.storage, owner, chat_id)
    if latest is None and (named := await _run_named(services, owner, chat_id)) is not None:
        return stream_of_run(services, named, profile)
    is_strict = request.query_params.get("strict") == "1"
    if latest is None or not _is_streamed(latest, profile, is_strict):
        return Response(status_code=204)
    return stream_of_run(services, latest, profile)


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
    state = await services.actions.answer(owner, chat_id, body)
    return json_response(state, 200 if isinstance(state, LateAnswer) else 202)


async def _run_named(services: Services, owner: str, run_id: str) -> Run | None:
    try:
        return await services.storage.run(owner, run_id)
    except NotFoundError:
        return None


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


def stream_of_run(services: Services, run: Run, profile: str | None, after: int = 0) -> EventStream:
    """The message of a run as a stream, after an entry of its log."""
    batches = frames(services.storage, run.id, get_formatter(AI_SDK, run.id, profile), after)
    headers = {**HEADERS, "x-mobox-run": run.id, "x-resumable-stream-id": run.id}
    return EventStream(batches, services.heartbeats, headers, services.readers.reading(run))
