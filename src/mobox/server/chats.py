"""The routes for what is stored: chats, their messages, and the agents there are."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import UNSET, Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.formatters.ai_sdk import DEFAULT, ui_message, ui_user_message
from mobox.message import Message
from mobox.server.chat import formatter_profile
from mobox.server.services import Services, json_response, owner_of, read_as
from mobox.storage.chats import Chat, StoredMessage
from mobox.storage.log import Run, Status

__all__ = [
    "ActiveRun",
    "AgentList",
    "ChatList",
    "ChatMessage",
    "ChatRow",
    "ChatView",
    "ChatsRoutes",
    "ListedChat",
    "Messages",
]

MOST = 200
LONGEST = 200
"""Characters of what is searched for; databases have bounds of their own, and say it worse."""


class ChatRow(Struct, rename="camel", kw_only=True):
    """A chat."""

    id: str
    title: str
    created_at: int
    updated_at: int


class ListedChat(ChatRow, rename="camel", kw_only=True):
    """A chat in a list."""

    status: Status | None = None
    """Of the run that goes on, or waits for an answer."""


class ChatList(Struct, rename="camel", kw_only=True):
    """Some chats, the latest first; `before` asks for those before them."""

    chats: list[ListedChat]
    before: str | None = None


class ActiveRun(Struct, rename="camel", kw_only=True):
    """The run that writes the message which is missing from the history."""

    id: str
    status: Status
    agent: str


class ChatMessage(Struct, kw_only=True):
    """A UIMessage, and the columns that frontends without parts read: they say the same."""

    id: str
    role: str
    parts: list[JSON]
    content: str
    """The text: the answer alone, or what the user wrote."""
    metadata: JSON = UNSET
    """Of an answer also `processing`, its status and todo lines, and `thinking`, one text."""


class Messages(Struct, rename="camel", kw_only=True):
    """A stretch of a chat as UIMessages, oldest first; `before` asks for those before them."""

    messages: list[ChatMessage]
    before: str | None = None
    active_run: ActiveRun | None = None


class ChatView(ChatRow, rename="camel", kw_only=True):
    """A chat, without the message that is being written."""

    agent: str | None = None
    """Who answered last, and answers next unless somebody else is asked."""
    messages: list[ChatMessage]
    before: str | None = None
    """Asks for the messages before these, if only the last were asked for."""
    active_run: ActiveRun | None = None


class Rename(Struct, forbid_unknown_fields=True):
    """A chat's new title."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]


class AgentRow(Struct, kw_only=True):
    """An agent that can be chosen."""

    id: str
    name: str
    description: str


class AgentList(Struct, kw_only=True):
    """The agents there are."""

    agents: list[AgentRow]


class ChatsRoutes:
    """`/api/chats` and `/api/agents`."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._supervisor = services.supervisor

    async def find(self, request: Request) -> Response:
        """The owner's chats."""
        before = request.query_params.get("before")
        page = await self._storage.chats(
            owner_of(request), before, _limit(request), _query(request)
        )
        status = {run.chat_id: run.status for run in page.active}
        chats = [_listed(chat, status.get(chat.id)) for chat in page.chats]
        return json_response(ChatList(chats=chats, before=page.before))

    async def get(self, request: Request) -> Response:
        """One chat with its messages, and the run that is going on: at one moment."""
        profile = formatter_profile(request)
        owner, chat_id = owner_of(request), request.path_params["chat_id"]
        limit = _limit(request) if "limit" in request.query_params else None
        history = await self._storage.history(owner, chat_id, limit)
        runs = await self._storage.runs(owner, chat_id)
        view = ChatView(
            agent=runs[-1].agent if runs else None,
            id=history.chat.id,
            title=history.chat.title,
            created_at=history.chat.created_at,
            updated_at=history.chat.updated_at,
            messages=[_ui(message, profile) for message in history.messages],
            before=history.before,
            active_run=_active(history.active),
        )
        return json_response(view)

    async def messages(self, request: Request) -> Response:
        """The last messages, or those before a cursor."""
        profile = formatter_profile(request)
        page = await self._storage.messages(
            owner_of(request),
            request.path_params["chat_id"],
            request.query_params.get("before"),
            _limit(request),
        )
        messages = [_ui(message, profile) for message in page.messages]
        return json_response(
            Messages(messages=messages, before=page.before, active_run=_active(page.active))
        )

    async def rename(self, request: Request) -> Response:
        """Another title."""
        title = (await read_as(request, Rename)).title.strip()
        if not title:
            raise InvalidRequest("title", "expected words, got spaces")
        chat_id = request.path_params["chat_id"]
        return json_response(_row(await self._storage.rename(owner_of(request), chat_id, title)))

    async def delete(self, request: Request) -> Response:
        """A chat, its runs, and what its agents kept."""
        await self._supervisor.delete(owner_of(request), request.path_params["chat_id"])
        return Response(status_code=204)

    async def agents(self, _request: Request) -> Response:
        """The agents that `agent` in a body may name."""
        agents = [
            AgentRow(id=agent.id, name=agent.name, description=agent.description)
            for agent in self._supervisor.catalog
        ]
        return json_response(AgentList(agents=agents))


def _limit(request: Request) -> int:
    told = request.query_params.get("limit", "50")
    # Python refuses to read a number of thousands of digits.
    if re.fullmatch("[0-9]{1,9}", told) is None or not 1 <= int(told) <= MOST:
        raise InvalidRequest("limit", f"expected a number from 1 to {MOST}, got {told[:20]!r}")
    return int(told)


def _query(request: Request) -> str:
    told = request.query_params.get("query", "")
    if len(told) > LONGEST:
        raise InvalidRequest("query", f"expected at most {LONGEST} characters, got {len(told)}")
    return told


def _row(chat: Chat) -> ChatRow:
    return ChatRow(
        id=chat.id, title=chat.title, created_at=chat.created_at, updated_at=chat.updated_at
    )


def _listed(chat: Chat, status: Status | None) -> ListedChat:
    return ListedChat(
        id=chat.id,
        title=chat.title,
        created_at=chat.created_at,
        updated_at=chat.updated_at,
        status=status,
    )


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
