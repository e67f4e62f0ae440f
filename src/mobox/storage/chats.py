"""The chats of every owner, and a store as a whole: the interfaces and their values.

Rule 1: the owner is the first parameter and has no default, so omitting it is a type error.
Rule 2: another owner's data is reported as not found, with the same error as a missing id.
Rule 3: a stored message is a cache of the fold of its run's log, up to the entry it records.
Rule 4: messages after a cut are superseded: stored, and left out of every list. They are another
        branch of the chat, which `choose_branch` brings back.
Rule 5: a chat is deleted as a whole, with its runs and their logs. Of other chats, only raw lines
        are deleted when they are old.
Rule 6: a chat with a running or waiting run is never deleted for its age; whether it is idle is
        checked again in the transaction that deletes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, Protocol

import msgspec
from msgspec import Struct

from mobox.errors import InvalidCursor
from mobox.events.message import Message, parts_for_history
from mobox.events.turn import HistoryMessage, Request, UserMessage
from mobox.events.usage import Totals
from mobox.storage.branches import Branches
from mobox.storage.excerpts import Hit
from mobox.storage.feedback import Feedback, Opinion
from mobox.storage.files import FileStore
from mobox.storage.health import Load
from mobox.storage.keys import Keys
from mobox.storage.log import ClientRequest, Log, Run, RunId
from mobox.storage.owner_limits import OwnerLimits
from mobox.storage.permissions import Permission
from mobox.storage.renewals import Renewal
from mobox.storage.run_lists import RunFilter, RunPage
from mobox.storage.share_links import ShareLink

MOST_PINNED: Final = 100
"""Pinned chats that a list returns."""
FORGOTTEN_AT_ONCE: Final = 5000
"""Rows per transaction, so that other writers do not wait for long."""


class Chat(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One conversation; its id is chosen by the client, and unique in the store."""

    id: str
    owner: str
    title: str
    created_at: int
    updated_at: int
    """When a turn last started, paused or ended: the list of chats is sorted by it."""
    pinned_at: int | None = None
    """When its owner pinned it."""


class StoredMessage(Struct, frozen=True, kw_only=True):
    """One message of a chat: a user's as received, an assistant's as folded from its log."""

    id: str
    role: Literal["user", "assistant"]
    created_at: int
    body: UserMessage | Message
    run_id: RunId | None = None

    def as_history(self) -> HistoryMessage:
        """The message as an agent receives it."""
        parts = parts_for_history(self.body) if isinstance(self.body, Message) else self.body.parts
        return HistoryMessage(id=self.id, role=self.role, parts=tuple(msgspec.to_builtins(parts)))


class History(Struct, frozen=True, kw_only=True):
    """A snapshot of a chat."""

    chat: Chat
    messages: tuple[StoredMessage, ...]
    """Oldest first, without the message of the active run."""
    active: Run | None = None
    """The run that is running or waiting: its message is read from its log."""
    before: str | None = None
    """The cursor of the messages before these; `None` if there are none."""


class RunFacts(Struct, frozen=True, kw_only=True):
    """A run, and what its log says about the model; nothing of that while it has not ended."""

    run: Run
    model: str | None = None
    simulated: bool = False
    usage: Totals | None = None
    context: int | None = None
    """The tokens of the last call of that model."""


class MessagePage(Struct, frozen=True, kw_only=True):
    """A page of a chat's messages, oldest first, without the message of the active run."""

    messages: tuple[StoredMessage, ...]
    active: Run | None = None
    before: str | None = None
    """The cursor of the messages before these; `None` if there are none."""


class ChatPage(Struct, frozen=True, kw_only=True):
    """Some of an owner's chats, the latest first."""

    chats: tuple[Chat, ...]
    active: tuple[Run, ...] = ()
    """The active runs of these chats: at most one of each, as in `History.active`."""
    failed: frozenset[str] = frozenset()
    """The ids of those chats whose last run failed."""
    before: str | None = None
    """The cursor of the chats before these; `None` if there are none."""
    pinned: tuple[Chat, ...] = ()
    """On the first page of a list: all pinned chats, the one first that was pinned first."""
    agents: dict[str, str] = {}
    """By chat: the agent of its last run."""
    hits: dict[str, tuple[Hit, ...]] = {}
    """By chat: the last messages that contain the text of a search."""


class BegunTurn(Struct, frozen=True, kw_only=True):
    """The run that answers a request."""

    run: Run
    created: bool
    """False for a repeated request: its run was started before."""


class NamedRequest(Struct, frozen=True):
    """A request with a client's name, and the run that answers it."""

    run: Run
    asking: ClientRequest


class Chats(Protocol):
    """The chats of owners."""

    async def begin_turn(
        self, owner: str, request: Request, agent: str, framework: str, *, queue: bool = False
    ) -> BegunTurn:
        """Cut the chat where requested, add the message, and start the run that answers it.

        All or nothing. `RunActive` if the chat has a running run; a waiting one stays `waiting`.
        With `queue`, any process may claim the run from then on; else its lease is ours.
        """

    async def chat(self, owner: str, chat_id: str) -> Chat:
        """One chat."""

    async def chats(
        self,
        owner: str,
        before: str | None = None,
        limit: int = 50,
        query: str = "",
        agent: str = "",
    ) -> ChatPage:
        """The owner's chats; with a query, those whose title or text contains it.

        With an agent, those whose last run is that agent's.
        """

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        """The chat, whole or its last messages, and its active run, in one snapshot."""

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        """The last messages before a cursor."""

    async def run(self, owner: str, run_id: str) -> Run:
        """One run; `LogDeleted` if this owner deleted it."""

    async def runs(self, owner: str, chat_id: str) -> list[Run]:
        """All runs of a chat, oldest first, including superseded ones."""

    async def run_facts(self, owner: str, chat_id: str) -> list[RunFacts]:
        """All runs of a chat with their models and tokens, in the order of `runs`."""

    async def list_runs(
        self, owner: str, filter_: RunFilter, before: str | None = None, limit: int = 50
    ) -> RunPage:
        """The owner's runs over all chats, including superseded ones."""

    async def busy_chats(self, owner: str) -> set[str]:
        """The owner's chats that have a run that is executed or queued."""

    async def run_after(self, owner: str, chat_id: str, run_id: RunId | None) -> Run:
        """Wait for the run after `run_id`, or for the first run, and return it.

        The chat need not exist yet. `LogDeleted` if `run_id` was deleted.
        """

    async def named(self, owner: str, chat_id: str, name: str) -> NamedRequest:
        """The last request of a chat with this client's name; `RunNotFound` if there is none."""

    async def request_stop(self, owner: str, run_id: str) -> Run:
        """Store when a stop was first requested; the owner of the lease polls for it."""

    async def permissions(self, owner: str, chat_id: str) -> list[Permission]:
        """What agents may do in this chat without asking, oldest first."""

    async def revoke_permission(self, owner: str, chat_id: str, permission_id: str) -> None:
        """Delete a permission; `PermissionNotFound` if the chat has none of that id."""

    async def branches(self, owner: str, chat_id: str) -> Branches:
        """Where the branches of a chat part, along the chosen one."""

    async def choose_branch(self, owner: str, chat_id: str, run_id: str) -> Branches:
        """Choose the branch that has the answer of this run, to its newest end.

        All histories then show it, and the next message continues it. `BranchActive` if the chat
        has a run that is running or waiting.
        """

    async def feedback(self, owner: str, chat_id: str) -> list[Feedback]:
        """The owner's opinions of the chat's answers, in the order of the answers."""

    async def give_feedback(
        self, owner: str, chat_id: str, run_id: str, value: Opinion, comment: str
    ) -> Feedback:
        """Store an opinion of an answer, in place of the one before."""

    async def take_back_feedback(self, owner: str, chat_id: str, run_id: str) -> None:
        """Delete an opinion, if there is one."""

    async def add_link(self, owner: str, chat_id: str, link: ShareLink) -> None:
        """Store a link to a chat; `RunNotFound` if its run is not one of the chat's."""

    async def links(self, owner: str, chat_id: str) -> list[ShareLink]:
        """The links to a chat, oldest first."""

    async def revoke_link(self, owner: str, chat_id: str, link_id: str) -> None:
        """Delete a link to a chat; `LinkNotFound` if the chat has none of that id."""

    async def rename(self, owner: str, chat_id: str, title: str) -> Chat:
        """Give a chat another title."""

    async def pin(self, owner: str, chat_id: str, is_pinned: bool) -> Chat:
        """Pin a chat, or unpin it; a chat that is pinned already keeps its place."""

    async def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat with its logs; what still writes to them is fenced."""


class IdleChat(Struct, frozen=True, kw_only=True):
    """A chat in which nothing has happened for a while."""

    id: str
    owner: str
    runs: tuple[RunId, ...]
    """All runs, oldest first, including superseded ones."""


class Retention(Protocol):
    """Deletes old data of all owners."""

    async def idle_chats(self, since: int) -> list[IdleChat]:
        """The chats last updated before then that have no running or waiting run, oldest first."""

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        """Delete a chat as its owner would; False if it is deleted or not idle any more."""

    async def settle(self) -> None:
        """Wait until the rows of deleted logs are deleted: a store may do that later."""

    async def drop_raw(self, ended_before: int) -> int:
        """Delete the raw lines of all runs that ended before then; return how many."""

    async def count_raw(self, ended_before: int) -> int:
        """How many raw lines `drop_raw` would delete."""

    async def forget_deleted(self, deleted_before: int) -> int:
        """Forget runs deleted before then, at most `FORGOTTEN_AT_ONCE`; return how many.

        A forgotten run is reported as not found instead of as deleted.
        """


class Storage(Log, Chats, Keys, OwnerLimits, Retention, Protocol):
    """A store: it owns its data, and there is one per process."""

    @property
    def files(self) -> FileStore:
        """The files that messages refer to."""

    @property
    def wake_ups(self) -> Literal["none", "up", "down"]:
        """Whether notifications from other processes arrive. While they do not, readers poll."""

    @property
    def can_write(self) -> bool:
        """Whether the last write was committed, as far as it is the database's fault."""

    async def check(self, seconds: float) -> None:
        """Write something and read something; raises `StorageError` with the reason.

        At the latest after so many seconds.
        """

    async def check_version(self) -> None:
        """Raise `DatabaseTooNew` if a later version has migrated the database meanwhile."""

    async def load(self) -> Load:
        """The queued runs of all processes, and the leases of this one."""

    def when_work(self, callback: Callable[[], None]) -> None:
        """Call this when there may be a run to claim or to stop, from any process."""

    def when_renewed(self, callback: Callable[[Renewal], None]) -> None:
        """Call this whenever the leases of this process were renewed."""

    def acts_until(self, run: Run) -> float:
        """When the agent of a run whose lease is ours must stop, if it is never renewed."""

    async def close(self) -> None:
        """Commit what is pending and release all resources."""


# Cursors of lists: numbers that clients return unchanged

_CURSOR = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")  # no more than a database's integers hold


def write_cursor(*numbers: int) -> str:
    """The cursor with these numbers."""
    return ".".join(map(str, numbers))


def read_cursor(cursor: str, length: int) -> tuple[int, ...]:
    """The `length` numbers of a cursor."""
    numbers = cursor.split(".")
    if not _CURSOR.fullmatch(cursor) or len(numbers) != length:
        raise InvalidCursor(cursor)
    return tuple(map(int, numbers))
