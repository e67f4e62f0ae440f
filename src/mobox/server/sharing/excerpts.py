"""A store as the readers of a link see it: with as much of each log as the link shows.

Rule 1: all that a reader gets is read through this: an excerpt of the log, live and stored alike.
Rule 2: the details of errors and raw lines are never shown, whatever the server shows to others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, Final

from msgspec.structs import replace

from mobox.events import LogEntry
from mobox.events.brief import without_details
from mobox.events.excerpts import Excerpt, Shows
from mobox.events.message import Message
from mobox.events.shortening import BoundedTranscript
from mobox.events.turn import PromptData, PromptFile, PromptPart, UserMessage
from mobox.server.brief_storage import BriefStorage
from mobox.storage import Storage
from mobox.storage.chats import StoredMessage
from mobox.storage.log import PAGE, Run, RunId, pages

NOT_SHOWN = ""
"""In place of the address of a file: only its name is shown."""


_PAGE: Final = 50


class ExcerptStorage(BriefStorage):
    """The store for the readers of a link."""

    def __init__(self, storage: Storage, shows: Shows) -> None:
        super().__init__(storage)
        self._shows = shows

    async def read(self, run_id: RunId, after: int = 0, limit: int = PAGE) -> list[LogEntry]:
        """Only where everything is shown: a page without its entries looks like the end."""
        assert self._shows == "everything"
        return Excerpt(self._shows).of(await super().read(run_id, after, limit))

    async def follow(
        self, run_id: RunId, after: int = 0, *, through_pauses: bool = True
    ) -> AsyncIterator[Sequence[LogEntry]]:
        """From the first entry on, as an excerpt depends on all before."""
        assert after == 0
        excerpt = Excerpt(self._shows)
        batches: Any = super().follow(run_id, after, through_pauses=through_pauses)
        async with aclosing(batches):
            async for entries in batches:
                if shown := excerpt.of(entries):
                    yield shown

    async def turn(self, owner: str, chat_id: str, run: Run) -> tuple[StoredMessage, ...]:
        """The message that a run answers, and its own unless it is active.

        Only the answer, if another one has replaced it.
        """
        found = () if run.superseded else await self._find_turn(owner, chat_id, run)
        if not found and run.status == "done":
            answer = StoredMessage(
                id=run.id,
                role="assistant",
                created_at=run.started_at,
                body=await self.message_of(run.id),
                run_id=run.id,
            )
            return (answer,)
        return await self._all(found)

    async def _find_turn(self, owner: str, chat_id: str, run: Run) -> tuple[StoredMessage, ...]:
        """The same, as it is stored: other messages of the chat need not be folded."""
        before: str | None = None
        later: tuple[StoredMessage, ...] = ()
        while True:
            page = await self._storage.messages(owner, chat_id, before, _PAGE)
            found = (*page.messages, *later)
            place = next((n for n, each in enumerate(found) if each.run_id == run.id), None)
            if place is None and run.status != "done" and found and found[-1].role == "user":
                return found[-1:]
            if place is not None and (place or page.before is None):
                return found[max(0, place - 1) : place + 1]
            if page.before is None:
                return ()
            before, later = page.before, found[:1]

    async def _message(self, stored: StoredMessage) -> StoredMessage:
        if isinstance(stored.body, UserMessage):
            return replace(stored, body=self._prompt(stored.body))
        return stored if stored.run_id is None else await self._folded(stored, stored.run_id)

    async def _folded(self, stored: StoredMessage, run_id: RunId) -> StoredMessage:
        """A message is folded again, from the log that a reader sees."""
        assert isinstance(stored.body, Message)
        return replace(stored, body=await self.message_of(run_id))

    async def message_of(self, run_id: RunId) -> Message:
        """The message of a run so far."""
        transcript, excerpt = BoundedTranscript(), Excerpt(self._shows)
        async for page in pages(self._storage, run_id):
            for entry in excerpt.of(without_details(page)):
                transcript.add(entry.event, entry.ts)
        return transcript.message(run_id)

    def _prompt(self, message: UserMessage) -> UserMessage:
        """A person's message; the files in it, and an app's own data, are not everybody's."""
        if self._shows == "everything":
            return message
        parts = [_named(part) for part in message.parts if not isinstance(part, PromptData)]
        return replace(message, parts=tuple(parts), metadata=None)


def _named(part: PromptPart) -> PromptPart:
    if not isinstance(part, PromptFile):
        return part
    return replace(part, url=NOT_SHOWN, file_id=None, path=None)
