"""Who waits for runs to begin, chat by chat.

Rule 1: whoever waits has seen a number and waits for it to change, so no wake-up can be lost.
Rule 2: a wake-up is a hint: which runs there are, the store says.
Rule 3: all of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from mobox.storage.log import RunId
from mobox.storage.waiters import Waiters

__all__ = ["Beginnings", "ChatWatch"]


class ChatWatch(Waiters):
    """How often something changed in one chat, and who waits for more."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.readers = 0
        self._latest: RunId | None = None
        self._was_looked_at = False

    def ring(self) -> None:
        """A run was begun, or the chat is gone."""
        self.changes += 1
        self._wake()

    def look(self, latest: RunId | None) -> None:
        """Take the store's word for which run is the chat's last."""
        if not self._was_looked_at or latest != self._latest:
            self._was_looked_at, self._latest = True, latest
            self.ring()

    async def beyond(self, changes: int) -> None:
        """Wait until there were more changes than that."""
        while self.changes <= changes:
            await self.change()


class Beginnings:
    """The chats that somebody watches."""

    def __init__(self) -> None:
        self._watches: dict[str, ChatWatch] = {}

    @property
    def watched(self) -> list[str]:
        """The ids of these chats."""
        return list(self._watches)

    @contextmanager
    def watching(self, chat_id: str) -> Iterator[ChatWatch]:
        """Watch a chat, whether it is there or not."""
        watch = self._watches.setdefault(chat_id, ChatWatch())
        watch.readers += 1
        try:
            yield watch
        finally:
            watch.readers -= 1
            if not watch.readers:
                del self._watches[chat_id]

    def ring(self, chat_id: str) -> None:
        """Something was begun there, or deleted, in this process."""
        if watch := self._watches.get(chat_id):
            watch.ring()

    def look(self, chat_ids: Iterable[str], latest: Mapping[str, RunId]) -> None:
        """Take the store's word for the last runs of these chats, whoever began them."""
        for chat_id in chat_ids:
            if watch := self._watches.get(chat_id):
                watch.look(latest.get(chat_id))
