"""Messages made of logs, a page at a time and outside of any transaction: a log does not change.

Rule 1: a log of any length is folded in the end. What takes long is no limit's business, only each
        page is; and what was made is kept, whether or not somebody still waits for it.
Rule 2: nobody waits for it who wants something else. Each page is asked for anew, and one thread
        folds the pages of all in turn.
Rule 3: what several want at once is made once.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from mobox.entries import Entries
from mobox.errors import DatabaseAway, RunNotFound, StorageError
from mobox.message import Message
from mobox.storage.folds import Fold
from mobox.storage.postgres.messages import Behind, store_fold
from mobox.storage.postgres.reads import read_log
from mobox.storage.postgres.sessions import Sessions
from mobox.transcript import Transcript

__all__ = ["Folding"]

_PAGE: Final = 2048


class _Making(NamedTuple):
    folded: asyncio.Future[Message]
    kept: asyncio.Task[None]


class Folding:
    """Makes messages for all who read them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._thread = asyncio.Lock()
        self._making: dict[Behind, _Making] = {}
        self._is_open = True

    async def fold(self, behind: Behind) -> Message:
        """The message. Nobody waits for a cache: one that is not kept is made again."""
        return await asyncio.shield(self._made(behind).folded)

    async def keep(self, behind: Behind) -> None:
        """Return once it is kept; one that the database does not take hides no other."""
        making = self._made(behind)
        await asyncio.wait([making.kept])
        error = making.kept.exception()
        if isinstance(error, DatabaseAway):
            raise error

    async def close(self) -> None:
        """Keep what is made, and make no more."""
        self._is_open = False
        kept = [making.kept for making in self._making.values()]
        await asyncio.gather(*kept, return_exceptions=True)

    def _made(self, behind: Behind) -> _Making:
        if (making := self._making.get(behind)) is None:
            folded = asyncio.get_running_loop().create_future()
            kept = asyncio.create_task(self._make(behind, folded))
            making = self._making[behind] = _Making(folded, kept)
            for awaited in making:  # perhaps by nobody
                awaited.add_done_callback(lambda done: done.cancelled() or done.exception())
            kept.add_done_callback(lambda _: self._making.pop(behind))
        return making

    async def _make(self, behind: Behind, folded: asyncio.Future[Message]) -> None:
        try:
            message = await self._fold(behind)
        except BaseException as error:
            if isinstance(error, Exception):
                folded.set_exception(error)
            else:
                folded.cancel()
            raise
        folded.set_result(message)
        made = Fold(behind.message, behind.run, behind.seq, message)
        await self._sessions.ask(lambda connection: store_fold(connection, made), "much")

    async def _fold(self, behind: Behind) -> Message:
        transcript, after = Transcript(), 0
        while after < behind.seq:
            page = await self._page(behind, after)
            async with self._thread:
                await asyncio.to_thread(_add_all, transcript, page)
            after += len(page)
        async with self._thread:
            return await asyncio.to_thread(transcript.message, behind.run_id)

    async def _page(self, behind: Behind, after: int) -> Entries:
        if not self._is_open:
            raise StorageError("the store is closed")
        limit = min(_PAGE, behind.seq - after)
        page = await self._sessions.ask(
            lambda connection: read_log(connection, behind.run_id, after, limit), "much"
        )
        if not page:  # they are being deleted
            raise RunNotFound(behind.run_id)
        return page


def _add_all(transcript: Transcript, page: Entries) -> None:
    for entry in page:
        transcript.add(entry)
