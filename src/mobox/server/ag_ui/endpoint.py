"""The routes of AG-UI clients; CopilotKit's routes call these.

Rule 1: a thread is a chat, which clients of other protocols may use too.
Rule 2: a response only reads a log: it may start late, twice or not at all, and the run continues.
Rule 3: a request that is repeated with the same `runId` gets the same response and does nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cached_property
from itertools import dropwhile, takewhile
from typing import overload

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.errors import ChatNotFound, NotFound, NotWaiting
from mobox.events.message import Message
from mobox.events.turn import Action, Request, UserMessage
from mobox.formatters.ag_ui import (
    AGUIFormatter,
    AGUIMessage,
    profile_for,
    snapshot,
    user_message,
)
from mobox.formatters.ag_ui.requests import RunInput, StoredMessages, read_input, request_of
from mobox.formatters.ag_ui.state import PageState, PageStateFormatter
from mobox.formatters.bodies import Id
from mobox.server.chat.service import ChatService, RunState
from mobox.server.eventstream import EventStream, frames
from mobox.server.runs.lookup import active_run, latest_run
from mobox.server.services import (
    Services,
    counted,
    json_response,
    owner_of,
    read_as,
    read_json,
)
from mobox.storage.chats import StoredMessage
from mobox.storage.log import ClientRequest, Run
from mobox.supervisor import Continued


class StopThread(Struct, rename="camel", kw_only=True):
    """Which run to stop: that of the request with this `runId`, else the active one."""

    thread_id: Id
    run_id: Id | None = None


class AGUIRoutes:
    """`/api/agui` and what is below it."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._talk = ChatService(services.storage, services.supervisor)
        self._heartbeats = services.heartbeats

    async def run(self, request: HttpRequest) -> ASGIApp:
        """A message or answers; the response streams the agent's output."""
        return await self.answer(request, request.path_params.get("agent"))

    chat = run

    async def connect(self, request: HttpRequest) -> ASGIApp:
        """The history of a thread, then its active run.

        With `replay=1`, the last run from its first event instead, for a client that has the
        thread's messages but not that run's events.
        """
        owner, body = owner_of(request), read_input(await read_json(request))
        run = await latest_run(self._storage, owner, body.thread_id)
        if run is None:
            return EventStream(_nothing(), self._heartbeats)
        after = 0 if request.query_params.get("replay") == "1" else run.tail_seq
        messages = await self._messages(owner, body.thread_id)
        return await self._stream(body, Continued(run, after), messages)

    async def stop(self, request: HttpRequest) -> Response:
        """Stop a run; its readers see how it ends."""
        body = await read_as(request, StopThread)
        return await self.end(owner_of(request), body.thread_id, body.run_id)

    connect_chat, stop_chat = connect, stop

    async def answer(self, request: HttpRequest, agent: str | None) -> ASGIApp:
        """The response of an agent; without `agent`, of the one that the request names."""
        owner, body = owner_of(request), read_input(await read_json(request))
        messages = await self._messages(owner, body.thread_id)
        stored = _user_messages(messages)
        wanted = request_of(body, stored, request.headers.get("idempotency-key"))
        if agent is not None:
            wanted = replace(wanted, agent=agent)
        reading = await counted(request, wanted, lambda: self._begin(owner, wanted))
        if wanted.action is not Action.CONTINUE:  # an answer adds no message before the run
            messages = await self._messages(owner, body.thread_id)
        return await self._stream(body, reading, messages)

    async def end(self, owner: str, thread_id: str, name: str | None) -> Response:
        """Stop the run that answers the request of that name, or the active one."""
        await self._storage.chat(owner, thread_id)
        run = await active_run(self._storage, owner, thread_id)
        if run is None or not await self._answers(run, name):
            return json_response(RunState(run_id=None))
        return json_response(await self._talk.stop(owner, thread_id, run.id), 202)

    # Which run

    async def _answers(self, run: Run, name: str | None) -> bool:
        """Whether the run is currently responding to the request of that name."""
        requests = await self._storage.asked(run.id)
        return name in (None, run.id) or (bool(requests) and requests[-1].name == name)

    async def _begin(self, owner: str, wanted: Request) -> Continued:
        if wanted.action is Action.REGENERATE and (again := await self._named(owner, wanted)):
            return again
        try:
            return await self._talk.say(owner, wanted)
        except NotWaiting:
            if again := await self._named(owner, wanted):
                return again
            raise

    async def _named(self, owner: str, wanted: Request) -> Continued | None:
        """The run that already responds to this request, and the entry to read after."""
        try:
            found = await self._storage.named(owner, wanted.chat_id, wanted.name or "")
        except NotFound:
            return None
        return Continued(found.run, found.asking.after)

    # The response

    async def _messages(self, owner: str, thread_id: str) -> tuple[StoredMessage, ...]:
        try:
            return (await self._storage.history(owner, thread_id)).messages
        except ChatNotFound:
            return ()

    async def _stream(
        self, body: RunInput, reading: Continued, messages: Iterable[StoredMessage]
    ) -> EventStream:
        run, after = reading.run, reading.after
        profile = profile_for(body.protocol_version)
        before = takewhile(lambda message: message.run_id != run.id, messages)
        formatter = AGUIFormatter(
            run.id,
            profile,
            thread_id=body.thread_id,
            run_id=body.run_id,
            history=_History([*before], profile),
        )
        states = _states(await self._storage.asked(run.id))
        batches = frames(self._storage, run.id, PageStateFormatter(formatter, states), after)
        return EventStream(batches, self._heartbeats, {"x-mobox-run": run.id})


class _History(Sequence[AGUIMessage]):
    """The messages before a run, formatted on first use: few responses need them."""

    def __init__(self, messages: Sequence[StoredMessage], profile: str) -> None:
        self._messages = messages
        self._profile = profile

    @cached_property
    def _formatted(self) -> list[AGUIMessage]:
        return [each for message in self._messages for each in _format(message, self._profile)]

    def __len__(self) -> int:
        return len(self._formatted)

    @overload
    def __getitem__(self, index: int) -> AGUIMessage: ...

    @overload
    def __getitem__(self, index: slice) -> list[AGUIMessage]: ...

    def __getitem__(self, index: int | slice) -> AGUIMessage | list[AGUIMessage]:
        return self._formatted[index]


async def _nothing() -> AsyncIterator[bytes]:
    """The stream of a thread that does not exist yet: an empty snapshot would clear the page."""
    batches: tuple[bytes, ...] = ()
    for batch in batches:
        yield batch


def _states(requests: Iterable[ClientRequest]) -> list[PageState]:
    """The shared state that each request brought, from the first that is not empty."""
    pages = [(request.after, request.frontend) for request in requests]
    states = [PageState(after, page.state) for after, page in pages if page is not None]
    return [*dropwhile(lambda state: not state.value, states)]


def _user_messages(messages: Iterable[StoredMessage]) -> StoredMessages:
    bodies = (message.body for message in messages)
    return {each.id: each.parts for each in bodies if isinstance(each, UserMessage)}


def _format(message: StoredMessage, profile: str) -> list[AGUIMessage]:
    if isinstance(message.body, Message):
        return snapshot(message.body, profile)
    return [user_message(message.body)]
