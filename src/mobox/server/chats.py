"""The routes for chats, their messages, and the list of agents."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import UNSET, Meta, Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from mobox.capture.model_access import ModelSource
from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.events.message import Message
from mobox.formatters.ai_sdk import DEFAULT, ui_message, ui_user_message
from mobox.server.ai_sdk import requested_profile
from mobox.server.auth.principal import owner_of, principal_of
from mobox.server.files.links import linked
from mobox.server.services import Services, json_response, read_as
from mobox.storage.chats import Chat, StoredMessage
from mobox.storage.log import Run, Status
from mobox.storage.permissions import Permission

MOST = 200
LONGEST = 200
"""Maximum length of a search query; databases have limits too, with worse errors."""


class ChatRow(Struct, rename="camel", kw_only=True):
    """A chat."""

    id: str
    title: str
    created_at: int
    updated_at: int


class ListedChat(ChatRow, rename="camel", kw_only=True):
    """A chat in a list."""

    status: Status | None = None
    """Of the active run, if there is one."""


class ChatList(Struct, rename="camel", kw_only=True):
    """A page of chats, the latest first; `before` is the cursor of the next page."""

    chats: list[ListedChat]
    before: str | None = None


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
    """The agent of the last run, which also answers next unless a request names another."""
    messages: list[ChatMessage]
    before: str | None = None
    """The cursor of earlier messages, if `limit` left some out."""
    active_run: ActiveRun | None = None


class Rename(Struct, forbid_unknown_fields=True):
    """A chat's new title."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]


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


class AgentRow(Struct, kw_only=True):
    """An agent."""

    id: str
    name: str
    description: str
    model: ModelSource | None = None
    """Where its model's responses come from; `null` if it does not use the gateway."""


class AgentProblem(Struct, kw_only=True):
    """An agent that could not be loaded."""

    id: str
    """The name of its folder."""
    message: str


class AgentList(Struct, kw_only=True):
    """The available agents; for those who may operate also the ones that could not be loaded."""

    agents: list[AgentRow]
    problems: list[AgentProblem] = []


async def list_chats(request: Request, services: Services) -> Response:
    """The owner's chats."""
    query = request.query_params.get("query", "")
    if len(query) > LONGEST:
        raise InvalidRequest("query", f"expected at most {LONGEST} characters, got {len(query)}")
    before, limit = request.query_params.get("before"), _limit(request)
    page = await services.storage.chats(owner_of(request), before, limit, query)
    status = {run.chat_id: run.status for run in page.active}
    chats = [
        ListedChat(**structs.asdict(_row(chat)), status=status.get(chat.id)) for chat in page.chats
    ]
    return json_response(ChatList(chats=chats, before=page.before))


async def read_chat(request: Request, services: Services) -> Response:
    """One chat with its messages and its active run, read in one snapshot."""
    profile = requested_profile(request, services)
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    limit = _limit(request) if "limit" in request.query_params else None
    history = await services.storage.history(owner, chat_id, limit)
    runs = await services.storage.runs(owner, chat_id)
    messages = await linked(request, services.storage.files, history.messages)
    view = ChatView(
        **structs.asdict(_row(history.chat)),
        agent=runs[-1].agent if runs else None,
        messages=[_ui(message, profile) for message in messages],
        before=history.before,
        active_run=_active(history.active),
    )
    return json_response(view)


async def read_messages(request: Request, services: Services) -> Response:
    """The last messages of a chat, or those before a cursor."""
    profile = requested_profile(request, services)
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    before, limit = request.query_params.get("before"), _limit(request)
    page = await services.storage.messages(owner, chat_id, before, limit)
    stored = await linked(request, services.storage.files, page.messages)
    messages = [_ui(message, profile) for message in stored]
    return json_response(
        Messages(messages=messages, before=page.before, active_run=_active(page.active))
    )


async def rename_chat(request: Request, services: Services) -> Response:
    """Set a chat's title."""
    title = (await read_as(request, Rename)).title.strip()
    if not title:
        raise InvalidRequest("title", "expected text, got only spaces")
    chat_id = request.path_params["chat_id"]
    return json_response(_row(await services.storage.rename(owner_of(request), chat_id, title)))


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


async def list_agents(request: Request, services: Services) -> Response:
    """The agents that `agent` in a request may name."""
    agents = [
        AgentRow(
            id=agent.id,
            name=agent.name,
            description=agent.description,
            model=services.models.source(agent),
        )
        for agent in services.supervisor.catalog
    ]
    may_operate = "operate" in principal_of(request).scopes
    found = services.supervisor.catalog.problems if may_operate else []
    problems = [AgentProblem(id=each.file.parent.name, message=str(each)) for each in found]
    return json_response(AgentList(agents=agents, problems=problems))


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "50")
    # Python refuses to parse a number of thousands of digits.
    if re.fullmatch("[0-9]{1,9}", text) is None or not 1 <= int(text) <= MOST:
        raise InvalidRequest("limit", f"expected a number from 1 to {MOST}, got {text[:20]!r}")
    return int(text)


def _row(chat: Chat) -> ChatRow:
    return ChatRow(
        id=chat.id, title=chat.title, created_at=chat.created_at, updated_at=chat.updated_at
    )


def _permission(stored: Permission) -> PermissionRow:
    return PermissionRow(**structs.asdict(stored))


def _active(run: Run | None) -> ActiveRun | None:
    return None if run is None else ActiveRun(id=run.id, status=run.status, agent=run.agent)


def _ui(message: StoredMessage, profile: str | None) -> ChatMessage:
    body = message.body
    if not isinstance(body, Message):
        return ChatMessage(**ui_user_message(body), content=body.text)
    ui = ui_message(body, profile or DEFAULT)
    if body.metadata:
        ui["metadata"] = {**ui.get("metadata", {}), **body.metadata}
    return ChatMessage(**ui, content=body.content)
