"""What is kept for how long: the interface that stores implement, and its values.

Rule 1: a chat goes as a whole, with its runs and their logs; of one that lives on nothing goes but
        raw lines.
Rule 2: a run that is running or waiting keeps its chat, however old that is.
Rule 3: whether a chat is idle is asked once more in the transaction that deletes it.
"""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct

from mobox.storage.log import RunId

__all__ = ["FORGOTTEN_AT_ONCE", "IdleChat", "Retention"]

FORGOTTEN_AT_ONCE: Final = 5000
"""So that nobody waits for long who wants to write meanwhile."""


class IdleChat(Struct, frozen=True, kw_only=True):
    """A chat in which nothing has happened for a while."""

    id: str
    owner: str
    runs: tuple[RunId, ...]
    """All of them, oldest first, also the superseded ones."""


class Retention(Protocol):
    """What is deleted because it is old, whoever's it is."""

    async def idle_chats(self, since: int) -> list[IdleChat]:
        """The chats last updated before then of which no run goes on or waits, oldest first."""

    async def delete_idle(self, chat: IdleChat, since: int) -> bool:
        """Delete a chat as its owner would; False if it is not there or not idle any more."""

    async def settle(self) -> None:
        """Return once the rows of deleted logs are gone: a store may take its time for that."""

    async def drop_raw(self, ended_before: int) -> int:
        """Delete the raw lines of all runs that ended before then; return how many."""

    async def count_raw(self, ended_before: int) -> int:
        """How many raw lines `drop_raw` would delete."""

    async def forget_deleted(self, deleted_before: int) -> int:
        """Forget runs that were deleted before then, `FORGOTTEN_AT_ONCE` at most; how many.

        Who asks for one is told from then on that there is none.
        """
