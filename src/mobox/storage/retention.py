"""Deletion of old data: the interface that stores implement, and its values.

Rule 1: a chat is deleted as a whole, with its runs and their logs; of other chats, only raw lines
        are deleted.
Rule 2: a chat with a running or waiting run is never deleted, however old it is.
Rule 3: whether a chat is idle is checked again in the transaction that deletes it.
"""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct

from mobox.storage.log import RunId

__all__ = ["FORGOTTEN_AT_ONCE", "IdleChat", "Retention"]

FORGOTTEN_AT_ONCE: Final = 5000
"""Rows per transaction, so that other writers do not wait for long."""


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
