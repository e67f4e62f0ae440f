"""The routes of a link's readers.

Rule 1: the chat comes from the link, never from the request.
Rule 2: everything is read through the link's excerpt of the store (excerpts.py).
Rule 3: runs are read by their id only where the link shows everything; files too.
Rule 4: a reader is not a client of a run: whether the owner's pages have left it is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.errors import LinkNotFound, NotFoundError, RunNotFound
from mobox.events.excerpts import Shows
from mobox.events.turn import PromptFile, PromptPart, UserMessage
from mobox.server import chats
from mobox.server.actions import run_of_chat
from mobox.server.ai_sdk import requested_profile, stream_of_run
from mobox.server.auth.links import opened_link
from mobox.server.chats import ActiveRun, ChatMessage, Messages
from mobox.server.files import transfers
from mobox.server.files.links import base_of, shared_url
from mobox.server.paging import page_limit
from mobox.server.readers import Readers, Reading
from mobox.server.runs import events
from mobox.server.services import CompleteLogs, Services, json_response
from mobox.server.session_index import SessionIndex
from mobox.server.sharing.excerpts import ExcerptStorage
from mobox.storage import Storage
from mobox.storage.chats import Chat, MessagePage, StoredMessage
from mobox.storage.log import Run, active_of
from mobox.storage.share_links import OpenedLink
from mobox.storage.titles import title_of

_UNLISTED: Final = {"x-robots-tag": "noindex, nofollow"}


class SharedState(Struct, rename="camel", kw_only=True):
    """When a shared chat last changed, and its active run."""

    title: str
    updated_at: int
    active_run: ActiveRun | None = None


class SharedView(SharedState, rename="camel", kw_only=True):
    """A shared chat, or one run of it."""

    shows: Shows
    run_id: str | None = None
    """The only run that is shown."""
    created_at: int
    """When the link was created."""
    expires_at: int | None = None
    agent: str | None = None
    """The name of the agent of the last run."""
    messages: list[ChatMessage]
    before: str | None = None


async def read_shared(request: Request, services: Services) -> Response:
    """What the link shows."""
    profile, opened = requested_profile(request, services), opened_link(request)
    link, shared = opened.link, _as_reader(services, opened)
    state = await _state(shared, opened)
    runs = await _runs(shared, opened)

    def view(page: MessagePage) -> SharedView:
        return SharedView(
            title=state.title,
            updated_at=state.updated_at,
            active_run=state.active_run,
            shows=link.shows,
            run_id=link.run_id,
            created_at=link.created_at,
            expires_at=link.expires_at,
            agent=_agent_name(services, runs[-1].agent) if runs else None,
            messages=[chats.ui_message_of(each, profile) for each in page.messages],
            before=page.before,
        )

    read = partial(_linked_page, request, shared, None)
    return _unlisted(await services.reads.response(_counted(opened), read, view))


async def read_messages(request: Request, services: Services) -> Response:
    """Earlier messages of the chat."""
    profile, opened = requested_profile(request, services), opened_link(request)
    shared, before = _as_reader(services, opened), request.query_params.get("before")

    def view(page: MessagePage) -> Messages:
        messages = [chats.ui_message_of(each, profile) for each in page.messages]
        return Messages(messages=messages, before=page.before)

    read = partial(_linked_page, request, shared, before)
    return _unlisted(await services.reads.response(_counted(opened), read, view))


async def read_state(request: Request, services: Services) -> Response:
    """Whether the chat has changed."""
    opened = opened_link(request)
    return _unlisted(json_response(await _state(_as_reader(services, opened), opened)))


async def stream_active(request: Request, services: Services) -> ASGIApp:
    """The message of the active run, from its start; 204 if there is none."""
    profile, opened = requested_profile(request, services), opened_link(request)
    shared = _as_reader(services, opened)
    active = active_of(await _runs(shared, opened))
    if active is None:
        return Response(status_code=204)
    return stream_of_run(shared, active, profile)


async def list_formats(request: Request, services: Services) -> Response:
    """The formats that a run can be read in."""
    _check_everything(request)
    return await events.list_formats(request, services)


async def stream_events(request: Request, services: Services) -> ASGIApp:
    """A run of the chat in one format."""
    return await events.stream_events(request, await _of_run(request, services))


async def inspect_run(request: Request, services: Services) -> ASGIApp:
    """The frames of a run of the chat in several formats."""
    return await events.inspect_run(request, await _of_run(request, services))


async def download_file(request: Request, services: Services) -> ASGIApp:
    """A file of a message, by its signed address."""
    _check_everything(request)
    return await transfers.download_file(request, services)


# What the link opens


async def _of_run(request: Request, services: Services) -> Services:
    """The services for a reader of this run; `RunNotFound` if the link does not show it."""
    _check_everything(request)
    opened, run_id = opened_link(request), request.path_params["run_id"]
    if opened.link.run_id not in (None, run_id):
        raise RunNotFound(run_id)
    run = await run_of_chat(services.storage, opened.owner, opened.chat_id, run_id)
    if run.superseded and opened.link.run_id is None:
        raise RunNotFound(run_id)
    return _as_reader(services, opened)


def _check_everything(request: Request) -> None:
    if opened_link(request).link.shows != "everything":
        raise LinkNotFound("that shows everything")


def _as_reader(services: Services, opened: OpenedLink) -> Services:
    """The same services, of which a reader sees only the excerpt."""
    storage = cast("Storage", ExcerptStorage(services.complete.storage, opened.link.shows))
    index = SessionIndex(storage)
    return replace(
        services,
        storage=storage,
        index=index,
        complete=CompleteLogs(storage, index),
        readers=cast("Readers", _UNCOUNTED),
    )


class _Uncounted:
    @contextmanager
    def reading(self, _run: Run) -> Iterator[Reading]:
        yield Reading()


_UNCOUNTED: Final = _Uncounted()


async def _runs(shared: Services, opened: OpenedLink) -> list[Run]:
    """The runs that the link shows, oldest first."""
    runs = await shared.storage.runs(opened.owner, opened.chat_id)
    only = opened.link.run_id
    return [run for run in runs if (run.id == only if only else not run.superseded)]


async def _state(shared: Services, opened: OpenedLink) -> SharedState:
    chat = await _chat(shared, opened)
    active = active_of(await _runs(shared, opened))
    title = chat.title if opened.link.run_id is None else await _title_of_turn(shared, opened)
    return SharedState(
        title=title, updated_at=chat.updated_at, active_run=chats.active_run_of(active)
    )


async def _title_of_turn(shared: Services, opened: OpenedLink) -> str:
    """The chat's own title may be made of a message that is not shared."""
    bodies = [each.body for each in await _turn(shared, opened)]
    asked = next((body for body in bodies if isinstance(body, UserMessage)), None)
    return title_of(asked).text


async def _chat(shared: Services, opened: OpenedLink) -> Chat:
    try:
        return await shared.storage.chat(opened.owner, opened.chat_id)
    except NotFoundError:  # deleted since the link was found
        raise LinkNotFound("with this secret") from None


async def _messages(
    shared: Services, opened: OpenedLink, before: str | None, limit: int
) -> MessagePage:
    if opened.link.run_id is not None:
        return MessagePage(messages=await _turn(shared, opened))
    return await shared.storage.messages(opened.owner, opened.chat_id, before, limit)


async def _turn(shared: Services, opened: OpenedLink) -> tuple[StoredMessage, ...]:
    """The messages of the only run that the link shows."""
    storage = cast("ExcerptStorage", shared.storage)
    found = [
        await storage.turn(opened.owner, opened.chat_id, run) for run in await _runs(shared, opened)
    ]
    return found[0] if found else ()


def _counted(opened: OpenedLink) -> str:
    """For whom the reads of a link count: its readers do not hold up the owner of the chat."""
    return f"link {opened.link.id}"


async def _linked_page(request: Request, shared: Services, before: str | None) -> MessagePage:
    """Messages with the addresses of their files for the readers of a link."""
    opened = opened_link(request)
    page = await _messages(shared, opened, before, page_limit(request))
    link_id, base = opened.link.id, base_of(request)

    async def part_of(part: PromptPart) -> PromptPart:
        if not isinstance(part, PromptFile) or part.file_id is None:
            return part
        return replace(part, url=await shared_url(files, base, part.file_id, link_id))

    async def linked(stored: StoredMessage) -> StoredMessage:
        if not isinstance(stored.body, UserMessage):
            return stored
        parts = tuple([await part_of(part) for part in stored.body.parts])
        return replace(stored, body=replace(stored.body, parts=parts))

    files = shared.storage.files
    return replace(page, messages=tuple([await linked(each) for each in page.messages]))


def _agent_name(services: Services, agent_id: str) -> str | None:
    names = {agent.id: agent.name for agent in services.supervisor.catalog}
    return names.get(agent_id)


def _unlisted(response: Response) -> Response:
    response.headers.update(_UNLISTED)
    return response
