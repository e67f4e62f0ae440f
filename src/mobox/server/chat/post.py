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
from mobox.server.chat.service import AnswerBody, ChatService, RunState, StopBody
from mobox.server.eventstream import EventStream, frames
from mobox.server.runs.lookup import latest_run, run_of_chat
from mobox.server.services import (
    Services,
    counted,
    json_response,
    owner_of,
    read_as,
    read_json,
)
from mobox.settings import now_ms
from mobox.storage.log import Run

__all__ = ["AnswerBody", "ChatRoutes", "RunState", "StopBody"]

PROTOCOL: Final = "ai-sdk"
JUST_ENDED: Final = 30_000
"""Milliseconds for which an ended run is still replayed by a request for the active one: it may
have ended between the page's two requests, for the history and for the stream."""


class ChatRoutes:
    """`/api/chat` and what is below it."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._talk = ChatService(services.storage, services.supervisor)
        self._heartbeats = services.heartbeats

    async def post(self, request: Request) -> ASGIApp:
        """A message, an edit, a retry or an answer; the response streams the agent's output."""
        owner = owner_of(request)
        wanted = read_request(await read_json(request), request.headers.get("idempotency-key"))
        formatter_profile(request)
        continued = await counted(request, wanted, lambda: self._talk.say(owner, wanted))
        return self._stream(request, continued.run, continued.after)

    async def stream(self, request: Request) -> ASGIApp:
        """The message of the active run, from its start; 204 if there is none."""
        owner, chat_id = owner_of(request), request.path_params["chat_id"]
        formatter_profile(request)
        name = request.query_params.get("run")
        if name is not None:
            return self._stream(request, await self._run(owner, chat_id, name))
        run = await latest_run(self._storage, owner, chat_id)
        if run is None or not self._is_streamed(request, run):
            return Response(status_code=204)
        return self._stream(request, run)

    async def stop(self, request: Request) -> Response:
        """Stop a run; its readers see how it ends."""
        owner, chat_id = owner_of(request), request.path_params["chat_id"]
        body = await read_as(request, StopBody)
        state = await self._talk.stop(owner, chat_id, body.run_id, body.active_stream_id)
        return json_response(state, 200 if state.run_id is None else 202)

    async def answer(self, request: Request) -> Response:
        """Answer an input request; the agent's further output is in the stream."""
        owner, chat_id = owner_of(request), request.path_params["chat_id"]
        body = await read_as(request, AnswerBody)
        return json_response(await self._talk.answer(owner, chat_id, body), 202)

    # Which run

    async def _run(self, owner: str, chat_id: str, run_id: str) -> Run:
        return await run_of_chat(self._storage, owner, chat_id, run_id)

    def _is_streamed(self, request: Request, run: Run) -> bool:
        if run.status != "done":
            return True
        strict = request.query_params.get("strict") == "1"
        if strict or formatter_profile(request) not in REPLAYS_FINISHED:
            return False
        return now_ms() - (run.ended_at or 0) < JUST_ENDED

    def _stream(self, request: Request, run: Run, after: int = 0) -> EventStream:
        formatter = get_formatter(PROTOCOL, run.id, formatter_profile(request))
        batches = frames(self._storage, run.id, formatter, after)
        return EventStream(batches, self._heartbeats, {**HEADERS, "x-mobox-run": run.id})


def formatter_profile(request: Request) -> str | None:
    """The requested profile, if any; an unknown one raises `UnknownProfile`."""
    profile = request.query_params.get("profile")
    if profile is not None:
        get_formatter(PROTOCOL, "", profile)
    return profile
