"""The routes of AG-UI clients.

Rule 1: a thread is a chat, which clients of other protocols may use too.
Rule 2: a response only reads a log: it may start late, twice or not at all, and the run continues.
Rule 3: a request that is repeated with the same `runId` gets the same response and does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cached_property
from itertools import dropwhile, takewhile
from typing import Final, overload

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.errors import ChatNotFound, NotFoundError, NotWaiting
from mobox.events import JSON
from mobox.events.message import Message, TextPart
from mobox.events.shortening import EARLIER_LEFT_OUT
from mobox.events.turn import Action, Request, UserMessage
from mobox.formatters.ag_ui import (
    AGUIFormatter,
    AGUIMessage,
    profile_for,
    snapshot,
    user_message,
)
from mobox.formatters.ag_ui.files import file_places
from mobox.formatters.ag_ui.requests import RunInput, prompts_of, read_input, request_of
from mobox.formatters.ag_ui.state import PageState, PageStateFormatter
from mobox.formatters.bodies import Id
from mobox.server.actions import RunState, latest_run, runs_so_far
from mobox.server.auth.authentication import authenticator_of
from mobox.server.auth.principal import owner_of
from mobox.server.eventstream import EventStream, frames
from mobox.server.files.bodies import ChatBody, read_chat_body
from mobox.server.files.links import linked
from mobox.server.services import Services, forwarded_headers, json_response, read_as
from mobox.storage.chats import StoredMessage
from mobox.storage.log import ClientRequest, active_of
from mobox.supervisor import SubmittedRun


class StopThread(Struct, rename="camel", kw_only=True):
    """Which run to stop: that of the request with this `runId`, else the active one."""

    thread_id: Id
    run_id: Id | None = None


async def run(request: HttpRequest, services: Services) -> ASGIApp:
    """A message or answers; the response streams the agent's output."""
    async with read_chat_body(request, services.settings, file_places) as posted:
        return await respond(request, services, request.path_params.get("agent"), posted)


async def connect(request: HttpRequest, services: Services) -> ASGIApp:
    """The history of a thread, then its active run."""
    async with read_chat_body(request, services.settings, file_places) as posted:
        return await connect_thread(request, services, posted.value)


async def connect_thread(request: HttpRequest, services: Services, sent: JSON) -> ASGIApp:
    """The history of a thread, then its active run.

    With `replay=1`, the last run from its first event instead, for a client that has the
    thread's messages but not that run's events.
    """
    owner, body = owner_of(request), read_input(sent)
    latest = await latest_run(services.storage, owner, body.thread_id)
    if latest is None:
        return EventStream(_nothing(), services.heartbeats)
    after = 0 if request.query_params.get("replay") == "1" else latest.tail_seq
    messages = await _messages(services, owner, body.thread_id)
    shown = await linked(request, services.storage.files, messages)
    return await _stream(services, body, SubmittedRun(latest, after), shown, is_read=True)


async def stop(request: HttpRequest, services: Services) -> Response:
    """Stop a run; its readers see how it ends."""
    body = await read_as(request, StopThread)
    return await stop_thread(services, owner_of(request), body.thread_id, body.run_id)


# Sending and stopping


async def respond(
    request: HttpRequest,
    services: Services,
    agent: str | None,
    posted: ChatBody,
    at: Callable[[JSON], JSON] = lambda value: value,
) -> ASGIApp:
    """The response of an agent; without `agent`, of the one that the request names.

    `at` finds the run's input in the body.
    """
    owner, files = owner_of(request), services.storage.files
    body = read_input(at(posted.value))
    prompts = [await posted.move_files(files, owner, each) for each in prompts_of(body)]
    messages = await _messages(services, owner, body.thread_id)
    bodies = (message.body for message in messages)
    stored = {each.id: each.parts for each in bodies if isinstance(each, UserMessage)}
    headers = forwarded_headers(request, services.settings.forwarded_headers)
    wanted = request_of(body, stored, request.headers.get("idempotency-key"), headers, prompts)
    if agent is not None:
        wanted = replace(wanted, agent=agent)
    continued = await authenticator_of(request).rate_limit.submit(
        owner, wanted, lambda: _submit(services, owner, wanted, body)
    )
    if wanted.action is not Action.CONTINUE:  # an answer adds no message before the run
        messages = await _messages(services, owner, body.thread_id)
    return await _stream(services, body, continued, await linked(request, files, messages))


async def _submit(services: Services, owner: str, wanted: Request, body: RunInput) -> SubmittedRun:
    if wanted.action is Action.REGENERATE and (again := await _repeated(services, owner, wanted)):
        return again
    try:
        continued = await services.actions.submit(owner, wanted)
    except NotWaiting:
        if again := await _repeated(services, owner, wanted):
            return again
        raise
    return (
        await _read_late(services, owner, wanted, body, continued) if continued.late else continued
    )


async def _read_late(
    services: Services, owner: str, wanted: Request, body: RunInput, late: SubmittedRun
) -> SubmittedRun:
    """The run after the answers that counted; the same if this request is repeated (Rule 3)."""
    if again := await _repeated(services, owner, wanted):
        return again
    if not _ends_with_answers(body):
        raise NotWaiting(late.run.id)
    await services.storage.note(late.run.id, ClientRequest(name=wanted.name, after=late.after))
    return late


def _ends_with_answers(body: RunInput) -> bool:
    """Whether the page has nothing after its answers; else it has read what followed them."""
    return bool(body.resume) or (bool(body.messages) and body.messages[-1].role == "tool")


async def _repeated(services: Services, owner: str, wanted: Request) -> SubmittedRun | None:
    """The run that already responds to this request, and the entry to read after."""
    try:
        found = await services.storage.named(owner, wanted.chat_id, wanted.name or "")
    except NotFoundError:
        return None
    return SubmittedRun(found.run, found.asking.after)


async def stop_thread(services: Services, owner: str, thread_id: str, name: str | None) -> Response:
    """Stop the run that answers the request of that name, or the active one."""
    storage = services.storage
    await storage.chat(owner, thread_id)
    active = active_of(await runs_so_far(storage, owner, thread_id))
    if active is None:
        return json_response(RunState(run_id=None))
    is_named = name not in (None, active.id)
    if is_named and name not in _current_names(await storage.asked(active.id)):
        return json_response(RunState(run_id=None))
    return json_response(await services.actions.stop(owner, thread_id, active.id), 202)


def _current_names(requests: Sequence[ClientRequest]) -> set[str | None]:
    """The names of the requests whose responses are the latest: one, and those with late answers.

    A late answer may be to an earlier request than the last one.
    """
    latest = max((request.after for request in requests), default=0)
    return {each.name for each in requests if each.after == latest or each is requests[-1]}


# The response


_EARLIER: Final = StoredMessage(
    id="mobox-earlier",
    role="assistant",
    created_at=0,
    body=Message(
        id="mobox-earlier",
        parts=[TextPart(id="note", text=EARLIER_LEFT_OUT, ended=True)],
        content=EARLIER_LEFT_OUT,
        reason="stop",
    ),
)
"""Before the messages of a thread that is too long to be sent whole."""


async def _messages(services: Services, owner: str, thread_id: str) -> tuple[StoredMessage, ...]:
    try:
        history = await services.storage.history(owner, thread_id)
    except ChatNotFound:
        return ()
    return history.messages if history.before is None else (_EARLIER, *history.messages)


async def _stream(
    services: Services,
    body: RunInput,
    continued: SubmittedRun,
    messages: Iterable[StoredMessage],
    *,
    is_read: bool = False,
) -> EventStream:
    run_id = continued.run.id
    profile = profile_for(body.protocol_version)
    before = takewhile(lambda message: message.run_id != run_id, messages)
    history = _History([*before], profile)
    if is_read:
        await asyncio.to_thread(len, history)
    formatter = AGUIFormatter(
        run_id,
        profile,
        thread_id=body.thread_id,
        run_id=body.run_id,
        history=history,
    )
    states = _states(await services.storage.asked(run_id))
    batches = frames(
        services.storage, run_id, PageStateFormatter(formatter, states), continued.after
    )
    reading = services.readers.reading(continued.run)
    return EventStream(batches, services.heartbeats, {"x-mobox-run": run_id}, reading)


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
    """The shared state that each request brought, from the first that is not empty.

    Requests of other protocols bring none, and leave it as it is.
    """
    pages = [(request.after, request.frontend) for request in requests]
    known = ((after, page.state) for after, page in pages if page is not None)
    states = [PageState(after, state) for after, state in known if state is not None]
    return [*dropwhile(lambda state: not state.value, states)]


def _format(message: StoredMessage, profile: str) -> list[AGUIMessage]:
    if isinstance(message.body, Message):
        return snapshot(message.body, profile)
    return [user_message(message.body)]
