"""Reads the messages of a chat: listed in one snapshot, then read in batches.

Rule 1: a chat of any length can be read. Only its list of messages is read in one query.
Rule 2: a log of any length is folded in the end, a page at a time and outside of any transaction:
        logs do not change. Timeouts apply to each page, which is retried, not to the whole; the
        result is stored, whether or not a caller still waits.
Rule 3: other requests do not wait for it. Each page is a query of its own, and one thread folds
        the pages of all logs in turn.
Rule 4: concurrent requests for the same message share one fold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from mobox.errors import ChatNotFound, RunNotFound, StorageError, StorageUnavailable
from mobox.events.entries import Entries
from mobox.events.message import Message
from mobox.events.shortening import BoundedTranscript
from mobox.events.turn import UserMessage
from mobox.storage.chats import (
    Chat,
    History,
    MessagePage,
    RunFacts,
    StoredMessage,
    read_cursor,
    write_cursor,
)
from mobox.storage.log import Run, RunId
from mobox.storage.postgres.database import Connection, storable
from mobox.storage.postgres.reads import active_runs, find_chat, read_log, runs_of_chat
from mobox.storage.postgres.sessions import Sessions
from mobox.storage.run_queries import usage_columns
from mobox.storage.tables import (
    MOST,
    PAGE_BYTES,
    Fold,
    Row,
    answer_of,
    cached_facts,
    cached_message,
    encode_json,
    facts_of,
    size_of,
    user_message_of,
)

_FOLDED_AT_ONCE: Final = 2048
"""How many entries of a log are folded at once."""
_READ_AT_ONCE: Final = 64
"""How many messages are read at once."""
_LONG: Final = 256 * 1024
_READ_FIRST: Final = 8
"""How many while they may be long."""
_CAUGHT_UP: Final = 64
"""Messages that a search folds at most: more are folded in the background."""
_LEFT_AT_ONCE: Final = 16

# The rows of messages

_BODY: Final = "parts, message_metadata, body, verbatim"

_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def columns_of(message: Message | UserMessage) -> tuple[str | None, ...]:
    """A message as the columns of `_BODY`."""
    whole = encode_json(message)
    if rb"\u0000" in whole:
        return (None, None, None, whole.decode())
    fields = _decode_fields(whole)
    parts, metadata = fields.pop("parts"), fields.pop("metadata", None)
    decoded = None if metadata is None else bytes(metadata).decode()
    return (bytes(parts).decode(), decoded, encode_json(fields).decode(), None)


def _body_of(columns: Row) -> str | None:
    """The JSON of a message from the columns of `_BODY`; nothing, if none is stored."""
    parts, metadata, body, verbatim = columns
    if parts is None:
        return None if verbatim is None else str(verbatim)
    prefix = "" if metadata is None else f'"metadata":{metadata},'
    return f'{{{prefix}"parts":{parts},{body.lstrip()[1:]}'


class _Head(NamedTuple):
    """A message without its body; `n` and `run` are row numbers."""

    n: int
    id: str
    created_at: int
    run: int | None
    """`None` for a user's message."""
    seq: int
    """The length of that run's log."""


class _Page(NamedTuple):
    """Messages of one snapshot, latest first."""

    heads: tuple[_Head, ...]
    active: Run | None
    before: str | None


class _Body(NamedTuple):
    """The stored body of a message; a fold of a log's first `folded_seq` entries."""

    folded_seq: int
    text: str | None


_FIND: Final = """
SELECT message.n, message.id, message.created_at, message.run, coalesce(run.tail_seq, 0)
FROM message LEFT JOIN run ON run.n = message.run
WHERE message.chat = $1 AND NOT message.superseded AND message.n < $2 AND message.id != $3
ORDER BY message.n DESC LIMIT $4
"""
_BODIES: Final = f"SELECT n, folded_seq, {_BODY} FROM message WHERE n = ANY($1)"


async def _list(
    connection: Connection, owner: str, chat_id: str, before: str | None, limit: int
) -> tuple[Chat, _Page]:
    (end,) = read_cursor(before, 1) if before is not None else (MOST,)
    n, chat = await find_chat(connection, owner, chat_id)
    active = next(iter(await active_runs(connection, [n])), None)
    left_out = active.id if active is not None else ""
    rows = await connection.fetch(_FIND, n, end, left_out, limit + 1)
    more = write_cursor(rows[limit - 1][0]) if len(rows) > limit else None
    return chat, _Page(tuple(_Head(*row) for row in rows[:limit]), active, more)


async def _read_bodies(connection: Connection, numbers: Sequence[int]) -> dict[int, _Body]:
    """The bodies of these messages, without deleted ones."""
    rows = await connection.fetch(_BODIES, list(numbers))
    return {n: _Body(folded_seq, _body_of(columns)) for n, folded_seq, *columns in rows}


_FACTS: Final = """
SELECT run.id, message.n, message.created_at, run.n, run.tail_seq, folded_seq,
    jsonb_build_array(body->'model', body->'simulated', body->'usage', body->'context')::text,
    body IS NULL
FROM run JOIN message ON message.run = run.n WHERE run.chat = $1 AND run.status = 'done'
"""


class _Facts(NamedTuple):
    """The facts in a stored fold, as JSON; nothing where it is not stored, or is outdated."""

    head: _Head
    stored: str | None


async def _read_facts(
    connection: Connection, owner: str, chat_id: str
) -> tuple[list[Run], dict[str, _Facts]]:
    """All runs of a chat, and the facts of those that have ended."""
    chat, _ = await find_chat(connection, owner, chat_id)
    found = {}
    for run_id, n, created_at, run, seq, folded_seq, stored, is_empty in await connection.fetch(
        _FACTS, chat
    ):
        is_stored = folded_seq == seq and not is_empty
        head = _Head(n, run_id, created_at, run, seq)
        found[run_id] = _Facts(head, stored if is_stored else None)
    return await runs_of_chat(connection, owner, chat_id), found


class _Behind(NamedTuple):
    """A message to be folded from the first `seq` entries of a log; `message` is its row number."""

    message: int
    run_id: RunId
    seq: int


_UNFOLDED: Final = """
SELECT message.n, run.id, run.tail_seq
FROM run JOIN chat ON chat.n = run.chat JOIN message ON message.run = run.n
WHERE run.status = 'done' AND NOT run.folded AND {which} ORDER BY message.n {order} LIMIT $2
"""
_OF_OWNER: Final = _UNFOLDED.format(
    which="chat.owner = $1 AND message.folded_seq < run.tail_seq", order="DESC"
)
_OF_ALL: Final = _UNFOLDED.format(which="message.n > $1", order="")
_OF_RUN: Final = """
SELECT message.n, run.id, run.tail_seq FROM run JOIN message ON message.run = run.n
WHERE run.id = $1 AND run.status = 'done' AND NOT run.folded
"""


async def _find_behind(connection: Connection, find: str, *values: object) -> list[_Behind]:
    return [_Behind(*row) for row in await connection.fetch(find, *values)]


_KEEP: Final = """
UPDATE message SET words = $1, folded_seq = $2,
    parts = $4, message_metadata = $5, body = $6, verbatim = $7,
    input_tokens = $8, output_tokens = $9, cost_usd = $10
WHERE n = $3 AND folded_seq <= $2
"""
_KEPT: Final = """
UPDATE run SET folded = TRUE
WHERE n = (SELECT run FROM message WHERE n = $1) AND status = 'done' AND tail_seq = $2
"""


async def _store_fold(connection: Connection, made: Fold) -> None:
    """Store a fold, unless a later one is stored."""
    await connection.execute(_KEEP, *await asyncio.to_thread(_columns, made))
    await connection.execute(_KEPT, made.message, made.seq)


def _columns(made: Fold) -> tuple[Any, ...]:
    words, columns = storable(made.searched.casefold()), columns_of(made.folded)
    return (words, made.seq, made.message, *columns, *usage_columns(made))


# Folding


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
    future.add_done_callback(_retrieve)
    return future


def _retrieve(done: asyncio.Future[Any]) -> None:
    """Retrieve the exception, in case no caller waits."""
    if not done.cancelled():
        done.exception()


class _Folding:
    """Folds messages for all readers."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._thread = asyncio.Lock()
        self._making: dict[_Behind, _Making] = {}
        self._is_open = True

    async def fold(self, behind: _Behind) -> Message:
        """The message. Does not wait until it is stored: a lost one is folded again."""
        return await asyncio.shield(self._made(behind).folded)

    async def keep(self, behind: _Behind) -> None:
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

    def _made(self, behind: _Behind) -> _Making:
        if (making := self._making.get(behind)) is None:
            making = self._making[behind] = _Making()
            making.kept = asyncio.create_task(self._make(behind, making))
            making.kept.add_done_callback(_retrieve)
            making.kept.add_done_callback(lambda _: self._making.pop(behind))
        return making

    async def _make(self, behind: _Behind, making: _Making) -> None:
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
        await self._sessions.query(lambda connection: _store_fold(connection, made), "much")

    async def _fold(self, behind: _Behind, making: _Making) -> Message:
        transcript, after = BoundedTranscript(), 0
        while after < behind.seq:
            page = await self._page(behind, after, making)
            async with self._thread:
                await asyncio.to_thread(_add_all, transcript, page)
            after += len(page)
        async with self._thread:
            return await asyncio.to_thread(transcript.message, behind.run_id)

    async def _page(self, behind: _Behind, after: int, making: _Making) -> Entries:
        limit = min(_FOLDED_AT_ONCE, behind.seq - after)
        read = partial(read_log, run_id=behind.run_id, after=after, limit=limit)
        while self._is_open:
            try:
                page = await self._sessions.query(read, "much")
            except StorageUnavailable as error:
                making.put_off(error)
                continue
            if not page:  # the log is being deleted
                raise RunNotFound(behind.run_id)
            return page
        raise StorageError("the store is closed")


def _add_all(transcript: BoundedTranscript, page: Entries) -> None:
    for entry in page:
        transcript.add(entry.event, entry.ts)


class Messages:
    """Reads chats, and folds the messages that are not stored."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._folding = _Folding(sessions)

    async def history(self, owner: str, chat_id: str, limit: int | None) -> History:
        chat, page = await self._page(owner, chat_id, None, limit or MOST - 1)
        return History(chat=chat, messages=page.messages, active=page.active, before=page.before)

    async def page(self, owner: str, chat_id: str, before: str | None, limit: int) -> MessagePage:
        _, page = await self._page(owner, chat_id, before, limit)
        return page

    async def _page(
        self, owner: str, chat_id: str, before: str | None, limit: int
    ) -> tuple[Chat, MessagePage]:
        find = partial(_list, owner=owner, chat_id=chat_id, before=before, limit=limit)
        chat, (heads, active, more) = await self._sessions.snapshot(find, "much")
        messages = await self._read(chat_id, heads)
        if len(messages) < len(heads):
            more = write_cursor(heads[len(messages) - 1].n)
        return chat, MessagePage(messages=messages, active=active, before=more)

    async def facts(self, owner: str, chat_id: str) -> list[RunFacts]:
        find = partial(_read_facts, owner=owner, chat_id=chat_id)
        runs, found = await self._sessions.snapshot(find, "much")
        return [await self._facts(run, found.get(run.id)) for run in runs]

    async def _facts(self, run: Run, found: _Facts | None) -> RunFacts:
        if found is None:
            return RunFacts(run=run)
        stored = None if found.stored is None else cached_facts(run, found.stored)
        if stored is not None:
            return stored
        (message,) = await self._read(run.chat_id, [found.head])
        return (
            facts_of(run, message.body) if isinstance(message.body, Message) else RunFacts(run=run)
        )

    async def catch_up(self, owner: str) -> bool:
        """Store the owner's last messages that were left behind; whether there may be more."""
        behind = await self._fold_all(_OF_OWNER, owner, _CAUGHT_UP)
        return len(behind) == _CAUGHT_UP

    async def fold_ended(self, run_id: RunId) -> None:
        """Store the message of a run that has ended."""
        await self._fold_all(_OF_RUN, run_id)

    async def fold_some(self, after: int) -> int | None:
        """See `BackgroundFolds`: the next messages of all owners that were left behind."""
        behind = await self._fold_all(_OF_ALL, after, _LEFT_AT_ONCE)
        return behind[-1].message if behind else None

    async def _fold_all(self, find: str, *values: object) -> list[_Behind]:
        behind = await self._sessions.query(lambda c: _find_behind(c, find, *values))
        for each in behind:
            await self._folding.keep(each)
        return behind

    async def close(self) -> None:
        await self._folding.close()

    async def _read(self, chat_id: str, heads: Sequence[_Head]) -> tuple[StoredMessage, ...]:
        """The messages; as many of them, the latest, as may be read at once."""
        messages: list[StoredMessage] = []
        left, count = PAGE_BYTES, _READ_FIRST
        try:
            while left > 0 and (some := heads[len(messages) : len(messages) + count]):
                read = partial(_read_bodies, numbers=[head.n for head in some])
                bodies = await self._sessions.query(read, "much")
                for head in some:
                    body = bodies.get(head.n)
                    messages.append(await self._message(head, body))
                    left -= len(body.text) if body and body.text else size_of(messages[-1])
                    if left <= 0:
                        break
                count = _READ_AT_ONCE if left > PAGE_BYTES // 2 else _READ_FIRST
        except RunNotFound as error:
            raise ChatNotFound(chat_id) from error
        return tuple(reversed(messages))

    async def _message(self, head: _Head, body: _Body | None) -> StoredMessage:
        if body is None:
            raise RunNotFound(head.id)
        if head.run is None:
            return user_message_of(head.id, head.created_at, body.text or "")
        message = await self._decode(body.text) if body.folded_seq == head.seq else None
        if message is None:
            message = await self._folding.fold(_Behind(head.n, RunId(head.id), head.seq))
        return answer_of(head.id, head.created_at, message)

    async def _decode(self, text: str | None) -> Message | None:
        """In a thread, if it is long."""
        if text is None or len(text) < _LONG:
            return cached_message(text)
        return await asyncio.to_thread(cached_message, text)
