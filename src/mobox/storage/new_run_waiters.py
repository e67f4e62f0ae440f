"""Waits for new runs, chat by chat.

Rule 1: a waiter has seen a number and waits for it to change, so no wake-up can be lost.
Rule 2: a wake-up is a hint: the runs are read from the store.
Rule 3: all of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from mobox.storage.log import RunId
from mobox.storage.waiters import Waiters

__all__ = ["ChatWatch", "NewRunWaiters"]


class ChatWatch(Waiters):
    """Counts the changes of one chat, and wakes those who wait for the next."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.readers = 0
        self._latest: RunId | None = None
        self._was_looked_at = False

    def ring(self) -> None:
        """A run was started, or the chat was deleted."""
        self.changes += 1
        self._wake()

    def look(self, latest: RunId | None) -> None:
        """The chat's last run, as read from the store: wake if it is another."""
        if not self._was_looked_at or latest != self._latest:
            self._was_looked_at, self._latest = True, latest
            self.ring()

    async def beyond(self, changes: int) -> None:
        """Wait until there were more changes than that."""
        while self.changes <= changes:
            await self.change()


class NewRunWaiters:
    """The chats that have waiters."""

    def __init__(self) -> None:
        self._watches: dict[str, ChatWatch] = {}

    @property
    def watched(self) -> list[str]:
        """The ids of these chats."""
        return list(self._watches)

    @contextmanager
    def watching(self, chat_id: str) -> Iterator[ChatWatch]:
        """Watch a chat, whether it exists or not."""
        watch = self._watches.setdefault(chat_id, ChatWatch())
        watch.readers += 1
        try:
            yield watch
        finally:
            watch.readers -= 1
            if not watch.readers:
                del self._watches[chat_id]

    def ring(self, chat_id: str) -> None:
        """A run was started there, or the chat deleted, in this process."""
        if watch := self._watches.get(chat_id):
            watch.ring()

    def look(self, chat_ids: Iterable[str], latest: Mapping[str, RunId]) -> None:
        """The last runs of these chats, as read from the store."""
        for chat_id in chat_ids:
            if watch := self._watches.get(chat_id):
                watch.look(latest.get(chat_id))
