"""The chats of every owner: the interface that stores implement, and its values.

Rule 1: the owner comes first and has no default, so to forget it is a type error.
Rule 2: what belongs to others is not found, in the same words as what is not there.
Rule 3: a stored message is a cache of the fold of its run's log, and says how far it has folded.
Rule 4: what a cut leaves behind is superseded: kept, and left out of every list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from mobox.message import Message, told_again
from mobox.storage.keys import Keys
from mobox.storage.log import Asking, Log, Run, RunId
from mobox.storage.retention import Retention
from mobox.turn import HistoryMessage, Request, UserMessage

__all__ = [
    "BegunTurn",
    "Chat",
    "ChatPage",
    "Chats",
    "History",
    "MessagePage",
    "NamedRequest",
    "Storage",
    "StoredMessage",
]


class Chat(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One conversation; its id is the client's, and no two in a store have the same."""

    id: str
    owner: str
    title: str
    created_at: int
    updated_at: int
    """When a turn began, waited or ended: what the list of chats is sorted by."""


class StoredMessage(Struct, frozen=True, kw_only=True):
    """One message of a chat: a user's as it came, an assistant's as its run's log tells it."""

    id: str
    role: Literal["user", "assistant"]
    created_at: int
    body: UserMessage | Message
    run_id: RunId | None = None

    def as_history(self) -> HistoryMessage:
        """The message as agents get it."""
        said = told_again(self.body) if isinstance(self.body, Message) else self.body.parts
        parts = msgspec.to_builtins(said)
        return HistoryMessage(id=self.id, role=self.role, parts=tuple(parts))


class History(Struct, frozen=True, kw_only=True):
    """A chat at one moment."""

    chat: Chat
    messages: tuple[StoredMessage, ...]
    """Oldest first, without the message of the active run."""
    active: Run | None = None
    """The run that is running or waiting: its message is to be read from its log."""
    before: str | None = None
    """The cursor of the messages before these; `None` if there are none."""


class MessagePage(Struct, frozen=True, kw_only=True):
    """A stretch of a chat, oldest first, without the message of the active run."""

    messages: tuple[StoredMessage, ...]
    active: Run | None = None
    before: str | None = None
    """The cursor of the messages before these; `None` if there are none."""


class ChatPage(Struct, frozen=True, kw_only=True):
    """Some of an owner's chats, the latest first."""

    chats: tuple[Chat, ...]
    active: tuple[Run, ...] = ()
    """The active runs of these chats: of each at most one, as `History.active` tells it."""
    before: str | None = None
    """The cursor of the chats before these; `None` if there are none."""


class BegunTurn(Struct, frozen=True, kw_only=True):
    """The run that answers a request."""

    run: Run
    created: bool
    """False where the request had come before: its run is somebody's already."""


class NamedRequest(Struct, frozen=True):
    """A request that a client gave a name, and the run that answers it."""

    run: Run
    asking: Asking


class Chats(Protocol):
    """What owners have."""

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str
    ) -> BegunTurn:
        """Cut the chat where asked, add the message, and begin the run that answers it.

        All or nothing. `RunActive` if the chat has a running one; a waiting one is left waiting.
        """

    async def chat(self, owner: str, chat_id: str) -> Chat:
        """One chat."""

    async def chats(
        self, owner: str, before: str | None = None, limit: int = 50, query: str = ""
    ) -> ChatPage:
        """The owner's chats; with a query those whose title or words contain it."""

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        """The chat, whole or its last messages, and its active run, in one snapshot."""

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        """The last messages before a cursor."""

    async def run(self, owner: str, run_id: str) -> Run:
        """One run; `LogDeleted` if this owner deleted it."""

    async def runs(self, owner: str, chat_id: str) -> list[Run]:
        """All runs of a chat, oldest first, also the superseded ones."""

    async def busy_chats(self, owner: str) -> set[str]:
        """The owner's chats of which a run is executed, or waits for somebody to execute it."""

    async def run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run:
        """The run that was begun after that one, or the first, once there is one.

        A chat may be waited for that is not there yet. `LogDeleted` if `run_id` is gone.
        """

    async def named(self, owner: str, chat_id: str, name: str) -> NamedRequest:
        """The last request of a chat that its client called so; `RunNotFound` if there is none."""

    async def request_stop(self, owner: str, run_id: str) -> Run:
        """Note when a run was first asked to stop; whoever has its lease will see."""

    async def rename(self, owner: str, chat_id: str, title: str) -> Chat:
        """Give a chat another title."""

    async def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat with its logs; what still writes to them is fenced."""


class Storage(Log, Chats, Keys, Retention, Protocol):
    """A store: it owns its data, and there is one per process."""

    @property
    def wake_ups(self) -> Literal["none", "up", "down"]:
        """Whether other processes' news comes by itself. While it does not, it is looked for."""

    def when_work(self, callback: Callable[[], None]) -> None:
        """Call this whenever somebody is to look around: because of this process or another."""

    async def close(self) -> None:
        """Commit what is pending and let go of everything."""
