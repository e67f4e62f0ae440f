"""The routes that clients of AG-UI talk to; those of CopilotKit say the same in other places.

Rule 1: a thread is a chat, whoever else talks in it.
Rule 2: a response only reads a log: it may begin late, twice or not at all, and the run goes on.
Rule 3: a request that comes again under the name it had is answered again, and nothing is done.
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
from mobox.formatters.ag_ui import (
    AGUIFormatter,
    AGUIMessage,
    profile_for,
    snapshot,
    user_message,
)
from mobox.formatters.ag_ui.pages import KnowingPages, PageState
from mobox.formatters.ag_ui.request_wire import RunInput
from mobox.formatters.ag_ui.requests import Said, read_input, request_of
from mobox.formatters.bodies import Id
from mobox.message import Message
from mobox.server.eventstream import EventStream
from mobox.server.frames import frames
from mobox.server.runs import active_run, latest_run
from mobox.server.services import (
    Services,
    counted,
    json_response,
    owner_of,
    read_as,
    read_json,
)
from mobox.server.talking import RunState, Talk
from mobox.storage.chats import StoredMessage
from mobox.storage.log import Asking, Run
from mobox.supervisor import Continued
from mobox.turn import Action, Request, UserMessage

__all__ = ["AGUIRoutes", "StopThread"]


class StopThread(Struct, rename="camel", kw_only=True):
    """Which run to stop: that of a request, by the `runId` it had; else the active one."""

    thread_id: Id
    run_id: Id | None = None


class AGUIRoutes:
    """`/api/agui` and what is below it."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._talk = Talk(services.storage, services.supervisor)
        self._heartbeats = services.heartbeats

    async def run(self, request: HttpRequest) -> ASGIApp:
        """A message, or answers; the response is what the agent says."""
        return await self.answer(request, request.path_params.get("agent"))

    chat = run

    async def connect(self, request: HttpRequest) -> ASGIApp:
        """All that was said in a thread, then what is being said.

        With `replay=1`, the last run from its first event instead: whoever knows the thread, but
        not what was told of that run while it happened, has that too then.
        """
        owner, asked = owner_of(request), read_input(await read_json(request))
        run = await latest_run(self._storage, owner, asked.thread_id)
        if run is None:
            return EventStream(_nothing(), self._heartbeats)
        after = 0 if request.query_params.get("replay") == "1" else run.tail_seq
        messages = await self._messages(owner, asked.thread_id)
        return await self._stream(asked, Continued(run, after), messages)

    async def stop(self, request: HttpRequest) -> Response:
        """End a run; whoever reads it sees how it ends."""
        body = await read_as(request, StopThread)
        return await self.end(owner_of(request), body.thread_id, body.run_id)

    connect_chat, stop_chat = connect, stop

    async def answer(self, request: HttpRequest, agent: str | None) -> ASGIApp:
        """What the agent says to a request; without its name, the one that the request names."""
        owner, asked = owner_of(request), read_input(await read_json(request))
        messages = await self._messages(owner, asked.thread_id)
        wanted = request_of(asked, _said(messages), request.headers.get("idempotency-key"))
        if agent is not None:
            wanted = replace(wanted, agent=agent)
        told = await counted(request, wanted, lambda: self._begin(owner, wanted))
        if wanted.action is not Action.CONTINUE:  # which says nothing before the run
            messages = await self._messages(owner, asked.thread_id)
        return await self._stream(asked, told, messages)

    async def end(self, owner: str, thread_id: str, name: str | None) -> Response:
        """Stop the run that answers the request of that name, or the active one."""
        await self._storage.chat(owner, thread_id)
        run = await active_run(self._storage, owner, thread_id)
        if run is None or not await self._answers(run, name):
            return json_response(RunState(run_id=None))
        return json_response(await self._talk.stop(owner, thread_id, run.id), 202)

    # Which run

    async def _answers(self, run: Run, name: str | None) -> bool:
        """Whether what the run says now is said to the request of that name."""
        asked = await self._storage.asked(run.id)
        return name in (None, run.id) or (bool(asked) and asked[-1].name == name)

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
        """The run that answers this request already, and from where."""
        try:
            found = await self._storage.named(owner, wanted.chat_id, wanted.name or "")
        except NotFound:
            return None
        return Continued(found.run, found.asking.after)

    # What is told

    async def _messages(self, owner: str, thread_id: str) -> tuple[StoredMessage, ...]:
        try:
            return (await self._storage.history(owner, thread_id)).messages
        except ChatNotFound:
            return ()

    async def _stream(
        self, asked: RunInput, reading: Continued, messages: Iterable[StoredMessage]
    ) -> EventStream:
        run, after = reading.run, reading.after
        profile = profile_for(asked.protocol_version)
        before = takewhile(lambda message: message.run_id != run.id, messages)
        formatter = AGUIFormatter(
            run.id,
            profile,
            thread_id=asked.thread_id,
            run_id=asked.run_id,
            history=_History([*before], profile),
        )
        knowing = KnowingPages(formatter, _states(await self._storage.asked(run.id)))
        told = frames(self._storage, run.id, knowing, after)
        return EventStream(told, self._heartbeats, {"x-mobox-run": run.id})


class _History(Sequence[AGUIMessage]):
    """What was said before a run, told when somebody wants it: few responses have use for it."""

    def __init__(self, messages: Sequence[StoredMessage], profile: str) -> None:
        self._messages = messages
        self._profile = profile

    @cached_property
    def _told(self) -> list[AGUIMessage]:
        return [told for message in self._messages for told in _told(message, self._profile)]

    def __len__(self) -> int:
        return len(self._told)

    @overload
    def __getitem__(self, index: int) -> AGUIMessage: ...

    @overload
    def __getitem__(self, index: slice) -> list[AGUIMessage]: ...

    def __getitem__(self, index: int | slice) -> AGUIMessage | list[AGUIMessage]:
        return self._told[index]


async def _nothing() -> AsyncIterator[bytes]:
    """A thread that is only about to begin: a client that was told so would clear its page."""
    batches: tuple[bytes, ...] = ()
    for batch in batches:
        yield batch


def _states(asked: Iterable[Asking]) -> list[PageState]:
    """The states of pages, from the first that had any: before that there is nothing to know."""
    brought = [(asking.after, asking.frontend) for asking in asked]
    states = [PageState(after, page.state) for after, page in brought if page is not None]
    return [*dropwhile(lambda state: not state.value, states)]


def _said(messages: Iterable[StoredMessage]) -> Said:
    said = (message.body for message in messages)
    return {each.id: each.parts for each in said if isinstance(each, UserMessage)}


def _told(message: StoredMessage, profile: str) -> list[AGUIMessage]:
    if isinstance(message.body, Message):
        return snapshot(message.body, profile)
    return [user_message(message.body)]
