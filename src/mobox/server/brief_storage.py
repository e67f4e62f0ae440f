"""A store as readers see it where the details of errors are not shown.

The only place that hides them: every route, stream and socket reads logs and messages through the
server's store. The supervisor has the store itself, so agents and `mobox logs` see all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, cast

from msgspec.structs import replace

from mobox.events import LogEntry
from mobox.events.brief import without_details
from mobox.events.message import Message
from mobox.events.shortening import BoundedTranscript
from mobox.storage import Storage
from mobox.storage.chats import History, MessagePage, StoredMessage
from mobox.storage.log import PAGE, RawEntry, RunId, pages


def brief_storage(storage: Storage) -> Storage:
    """The store without the details of errors, and without raw lines, which have them too."""
    return cast("Storage", BriefStorage(storage))


class BriefStorage:
    """Delegates all that has no words of an agent; what may have some is overridden."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def read(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[LogEntry]:
        return list(without_details(await self._storage.read(run_id, after, limit)))

    async def follow(
        self, run_id: RunId, after: int = 0, *, through_pauses: bool = True
    ) -> AsyncIterator[Sequence[LogEntry]]:
        batches: Any = self._storage.follow(run_id, after, through_pauses=through_pauses)
        async with aclosing(batches):
            async for entries in batches:
                yield without_details(entries)

    async def raw_lines(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[RawEntry]:
        return []

    async def history(self, owner: str, chat_id: str, limit: int | None = None) -> History:
        history = await self._storage.history(owner, chat_id, limit)
        return replace(history, messages=await self._all(history.messages))

    async def messages(
        self, owner: str, chat_id: str, before: str | None = None, limit: int = 50
    ) -> MessagePage:
        page = await self._storage.messages(owner, chat_id, before, limit)
        return replace(page, messages=await self._all(page.messages))

    async def _all(self, messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
        return tuple([await self._message(stored) for stored in messages])

    async def _message(self, stored: StoredMessage) -> StoredMessage:
        """A message with errors is folded again, from the log that a reader sees."""
        body, run_id = stored.body, stored.run_id
        if not isinstance(body, Message) or run_id is None:
            return stored
        if not body.errors and body.error is None:
            return stored
        transcript = BoundedTranscript()
        async for page in pages(cast("Storage", self), run_id):
            for entry in page:
                transcript.add(entry.event, entry.ts)
        return replace(stored, body=transcript.message(body.id))
