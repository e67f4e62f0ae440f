"""The routes for chats and their messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, structs
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.events.message import Message
from mobox.formatters.ai_sdk import DEFAULT, ui_message, ui_user_message
from mobox.server.ai_sdk import requested_profile
from mobox.server.auth.principal import owner_of
from mobox.server.connected import while_connected
from mobox.server.files.links import linked
from mobox.server.paging import page_limit
from mobox.server.services import Services, json_response, read_as
from mobox.storage.chats import Chat, ChatPage, History, MessagePage, StoredMessage
from mobox.storage.excerpts import Hit
from mobox.storage.log import Run, Status
from mobox.storage.permissions import Permission

LONGEST = 200
"""Maximum length of a search query; databases have limits too, with worse errors."""


class ChatRow(Struct, rename="camel", kw_only=True):
    """A chat."""

    id: str
    title: str
    created_at: int
    updated_at: int
    pinned_at: int | None = None
    """When its owner pinned it; `null` if it is not pinned."""


class HitView(Struct, rename="camel", kw_only=True):
    """A message that contains the text of a search: `match`, with what is around it on one line."""

    message_id: str
    role: str
    before: str
    match: str
    after: str


class ListedChat(ChatRow, rename="camel", kw_only=True):
    """A chat in a list."""

    status: Status | None = None
    """Of the active run, if there is one."""
    failed: bool = False
    """Whether the last run ended with an error."""
    agent: str | None = None
    """The agent of the last run."""
    hits: list[HitView] = []
    """Of a search: the last messages that contain its text, oldest first."""


class ChatList(Struct, rename="camel", kw_only=True):
    """A page of chats, the latest first; `before` is the cursor of the next page."""

    chats: list[ListedChat]
    before: str | None = None
    pinned: list[ListedChat] = []
    """On the first page, without a search: all pinned chats, also those on later pages."""


class ActiveRun(Struct, rename="camel", kw_only=True):
    """The active run, whose message is not part of the history yet."""

    id: str
    status: Status
    agent: str


class ChatMessage(Struct, kw_only=True):
    """A UIMessage, and the same content in fields for frontends without parts."""

    id: str
    role: str
    parts: list[JSON]
    content: str
    """The text of the answer, or of the user's message."""
    metadata: JSON = UNSET
    """An answer also has `processing` (status and todo lines) and `thinking` (one text)."""


class Messages(Struct, rename="camel", kw_only=True):
    """A page of a chat's UIMessages, oldest first; `before` is the cursor of earlier ones."""

    messages: list[ChatMessage]
    before: str | None = None
    active_run: ActiveRun | None = None


class ChatView(ChatRow, rename="camel", kw_only=True):
    """A chat with its messages, without the message of the active run."""

    agent: str | None = None
    """The agent of the last run of the chosen branch, which also answers next unless a request
    names another."""
    messages: list[ChatMessage]
    before: str | None = None
    """The cursor of earlier messages, if `limit` or the size of the chat left some out."""
    active_run: ActiveRun | None = None


class ChatChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What to change of a chat."""

    title: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class PermissionRow(Struct, rename="camel", kw_only=True):
    """A person's approval of all further calls of a tool by an agent in a chat."""

    id: str
    agent: str
    tool: str
    input: JSON = UNSET
    """The only input that it covers; without it, any."""
    created_at: int


class PermissionList(Struct, kw_only=True):
    """The permissions of a chat, oldest first."""

    permissions: list[PermissionRow]


async def list_chats(request: Request, services: Services) -> Response:
    """The owner's chats."""
    query = request.query_params.get("query", "")
    if len(query) > LONGEST:
        raise InvalidRequest("query", f"expected at most {LONGEST} characters, got {len(query)}")
    before, limit = request.query_params.get("before"), page_limit(request)
    agent = request.query_params.get("agent", "")
    reading = services.storage.chats(owner_of(request), before, limit, query, agent)
    page = await while_connected(request, reading)
    chats, pinned = _listed(page, page.chats), _listed(page, page.pinned)
    return json_response(ChatList(chats=chats, before=page.before, pinned=pinned))


def _listed(page: ChatPage, chats: Iterable[Chat]) -> list[ListedChat]:
    status = {run.chat_id: run.status for run in page.active}
    return [
        ListedChat(
            **structs.asdict(_row(chat)),
            status=status.get(chat.id),
            failed=chat.id in page.failed,
            agent=page.agents.get(chat.id),
            hits=list(map(_hit, page.hits.get(chat.id, ()))),
        )
        for chat in chats
    ]


def _hit(hit: Hit) -> HitView:
    return HitView(message_id=hit.message_id, role=hit.role, **structs.asdict(hit.excerpt))


async def read_chat(request: Request, services: Services) -> Response:
    """One chat with its messages and its active run, read in one snapshot."""
    profile = requested_profile(request, services)
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    limit = page_limit(request) if "limit" in request.query_params else None

    async def read() -> tuple[History, list[Run]]:
        history = await services.storage.history(owner, chat_id, limit)
        runs = await services.storage.runs(owner, chat_id)
        messages = await linked(request, services.storage.files, history.messages)
        return structs.replace(history, messages=tuple(messages)), runs

    def view(found: tuple[History, list[Run]]) -> ChatView:
        history, runs = found
        return ChatView(
            **structs.asdict(_row(history.chat)),
            agent=next((run.agent for run in reversed(runs) if not run.superseded), None),
            messages=[ui_message_of(message, profile) for message in history.messages],
            before=history.before,
            active_run=active_run_of(history.active),
        )

    return await services.reads.response(owner, read, view)


async def read_messages(request: Request, services: Services) -> Response:
    """The last messages of a chat, or those before a cursor."""
    profile = requested_profile(request, services)
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    before, limit = request.query_params.get("before"), page_limit(request)

    async def read() -> MessagePage:
        page = await services.storage.messages(owner, chat_id, before, limit)
        messages = await linked(request, services.storage.files, page.messages)
        return structs.replace(page, messages=tuple(messages))

    def view(page: MessagePage) -> Messages:
        messages = [ui_message_of(message, profile) for message in page.messages]
        return Messages(
            messages=messages, before=page.before, active_run=active_run_of(page.active)
        )

    return await services.reads.response(owner, read, view)


async def change_chat(request: Request, services: Services) -> Response:
    """Set a chat's title, or pin it."""
    change = await read_as(request, ChatChange)
    if change == ChatChange():
        raise InvalidRequest("title", "expected `title` or `pinned`")
    title = change.title
    if title is not UNSET and not title.strip():
        raise InvalidRequest("title", "expected text, got only spaces")
    storage, owner, chat_id = services.storage, owner_of(request), request.path_params["chat_id"]
    if title is not UNSET:
        chat = await storage.rename(owner, chat_id, title.strip())
    if change.pinned is not UNSET:
        chat = await storage.pin(owner, chat_id, change.pinned)
    return json_response(_row(chat))


async def delete_chat(request: Request, services: Services) -> Response:
    """Delete a chat, its runs and its agents' state."""
    await services.supervisor.delete(owner_of(request), request.path_params["chat_id"])
    return Response(status_code=204)


async def list_permissions(request: Request, services: Services) -> Response:
    """What agents may do in a chat without asking."""
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    stored = await services.storage.permissions(owner, chat_id)
    return json_response(PermissionList(permissions=list(map(_permission, stored))))


async def revoke_permission(request: Request, services: Services) -> Response:
    """Delete a permission of a chat."""
    names = request.path_params
    owner, chat_id = owner_of(request), names["chat_id"]
    await services.storage.revoke_permission(owner, chat_id, names["permission_id"])
    return Response(status_code=204)


def _row(chat: Chat) -> ChatRow:
    return ChatRow(
        id=chat.id,
        title=chat.title,
        created_at=chat.created_at,
        updated_at=chat.updated_at,
        pinned_at=chat.pinned_at,
    )


def _permission(stored: Permission) -> PermissionRow:
    return PermissionRow(**structs.asdict(stored))


def active_run_of(run: Run | None) -> ActiveRun | None:
    """A run that is active, as clients get it."""
    return None if run is None else ActiveRun(id=run.id, status=run.status, agent=run.agent)


def ui_message_of(message: StoredMessage, profile: str | None) -> ChatMessage:
    """A stored message, as clients get it."""
    body = message.body
    if not isinstance(body, Message):
        return ChatMessage(**ui_user_message(body), content=body.text)
    ui = ui_message(body, profile or DEFAULT)
    if body.metadata:
        ui["metadata"] = {**ui.get("metadata", {}), **body.metadata}
    return ChatMessage(**ui, content=body.content)
