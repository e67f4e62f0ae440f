"""Reads the messages of a chat: listed in one snapshot, then read in batches.

Rule 1: a chat of any length can be read. Only its list of messages is read in one query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from mobox.errors import ChatNotFound, RunNotFound, StorageError, StorageUnavailable
from mobox.events.entries import Entries
from mobox.events.message import Message
from mobox.events.transcript import Transcript
from mobox.storage.chats import History, MessagePage, StoredMessage
from mobox.storage.log import RunId
from mobox.storage.message_cache import Fold, cached_message
from mobox.storage.postgres.messages import (
    Behind,
    Body,
    Head,
    find_behind,
    find_history,
    find_messages,
    read_bodies,
    said,
    store_fold,
)
from mobox.storage.postgres.reads import read_log
from mobox.storage.postgres.sessions import Sessions

# Folds logs into messages, a page at a time and outside of any transaction: logs do not change.
#
# Rule 1: a log of any length is folded in the end. Timeouts apply to each page, which is retried,
#         not to the whole; the result is stored, whether or not a caller still waits.
# Rule 2: other requests do not wait for it. Each page is a query of its own, and one thread folds
#         the pages of all logs in turn.
# Rule 3: concurrent requests for the same message share one fold.

_PAGE: Final = 2048


class _Making:
    """A message being folded; waiters get `StorageUnavailable` if the database is lost."""

    kept: asyncio.Task[None]

    def __init__(self) -> None:
        self.folded = _future()

    def put_off(self, error: StorageUnavailable) -> None:
        self.folded.set_exception(error)
        self.folded = _future()


def _future() -> asyncio.Future[Message]:
    future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    future.add_done_callback(_heed)
    return future


def _heed(done: asyncio.Future[Any]) -> None:
    """Retrieve the exception, in case no caller waits."""
    if not done.cancelled():
        done.exception()


class Folding:
    """Folds messages for all readers."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._thread = asyncio.Lock()
        self._making: dict[Behind, _Making] = {}
        self._is_open = True

    async def fold(self, behind: Behind) -> Message:
        """The message. Does not wait until it is stored: a lost one is folded again."""
        return await asyncio.shield(self._made(behind).folded)

    async def keep(self, behind: Behind) -> None:
        """Wait until it is stored; raises `StorageUnavailable` only."""
        making = self._made(behind)
        for awaited in (making.folded, making.kept):
            await asyncio.wait([awaited])
            error = awaited.exception()
            if isinstance(error, StorageUnavailable):
                raise error

    async def close(self) -> None:
        """Store what is being folded, and start no more."""
        self._is_open = False
        kept = [making.kept for making in self._making.values()]
        await asyncio.gather(*kept, return_exceptions=True)

    def _made(self, behind: Behind) -> _Making:
        if (making := self._making.get(behind)) is None:
            making = self._making[behind] = _Making()
            making.kept = asyncio.create_task(self._make(behind, making))
            making.kept.add_done_callback(_heed)
            making.kept.add_done_callback(lambda _: self._making.pop(behind))
        return making

    async def _make(self, behind: Behind, making: _Making) -> None:
        try:
            message = await self._fold(behind, making)
        except BaseException as error:
            if isinstance(error, Exception):
                making.folded.set_exception(error)
            else:
                making.folded.cancel()
            raise
        making.folded.set_result(message)
        made = Fold(behind.message, behind.seq, message)
        await self._sessions.ask(lambda connection: store_fold(connection, made), "much")

    async def _fold(self, behind: Behind, making: _Making) -> Message:
        transcript, after = Transcript(), 0
        while after < behind.seq:
            page = await self._page(behind, after, making)
            async with self._thread:
                await asyncio.to_thread(_add_all, transcript, page)
            after += len(page)
        async with self._thread:
            return await asyncio.to_thread(transcript.message, behind.run_id)

    async def _page(self, behind: Behind, after: int, making: _Making) -> Entries:
        limit = min(_PAGE, behind.seq - after)
        read = partial(read_log, run_id=behind.run_id, after=after, limit=limit)
        while self._is_open:
            try:
                page = await self._sessions.ask(read, "much")
            except StorageUnavailable as error:
                making.put_off(error)
                continue
            if not page:  # the log is being deleted
                raise RunNotFound(behind.run_id)
            return page
        raise StorageError("the store is closed")


def _add_all(transcript: Transcript, page: Entries) -> None:
    for entry in page:
        transcript.add(entry.event, entry.ts)


_MANY: Final = 64
"""How many messages are read at once."""


class Histories:
    """Reads chats, and folds the messages that are not stored."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._folding = Folding(sessions)

    async def history(self, owner: str, chat_id: str, limit: int | None) -> History:
        """See `Chats.history`."""
        chat, found = await self._sessions.read(
            partial(find_history, owner=owner, chat_id=chat_id, limit=limit), "much"
        )
        messages = await self._read(chat_id, found.heads)
        return History(chat=chat, messages=messages, active=found.active, before=found.before)

    async def messages(
        self, owner: str, chat_id: str, before: str | None, limit: int
    ) -> MessagePage:
        """See `Chats.messages`."""
        found = await self._sessions.read(
            partial(find_messages, owner=owner, chat_id=chat_id, before=before, limit=limit), "much"
        )
        messages = await self._read(chat_id, found.heads)
        return MessagePage(messages=messages, active=found.active, before=found.before)

    async def catch_up(self, owner: str) -> None:
        """Store the messages that were never read."""
        find = partial(find_behind, owner=owner)
        after = 0
        while found := await self._sessions.ask(partial(find, after=after), "much"):
            for behind in found:
                await self._folding.keep(behind)
            after = found[-1].message

    async def close(self) -> None:
        """Store the folded messages."""
        await self._folding.close()

    async def _read(self, chat_id: str, heads: Sequence[Head]) -> tuple[StoredMessage, ...]:
        messages: list[StoredMessage] = []
        try:
            for start in range(0, len(heads), _MANY):
                some = heads[start : start + _MANY]
                read = partial(read_bodies, numbers=[head.n for head in some])
                bodies = await self._sessions.ask(read, "much")
                messages += [await self._message(head, bodies.get(head.n)) for head in some]
        except RunNotFound as error:
            raise ChatNotFound(chat_id) from error
        return tuple(reversed(messages))

    async def _message(self, head: Head, body: Body | None) -> StoredMessage:
        if body is None:
            raise RunNotFound(head.id)
        if head.run is None:
            return said(head, body)
        is_whole = body.folded_seq == head.seq
        message = cached_message(body.text) if is_whole else None
        if message is None:
            behind = Behind(head.n, RunId(head.id), head.seq)
            message = await self._folding.fold(behind)
        return StoredMessage(
            id=head.id,
            role="assistant",
            created_at=head.created_at,
            body=message,
            run_id=RunId(head.id),
        )
