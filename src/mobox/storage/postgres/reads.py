"""Queries of runs, logs and lists of chats."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from mobox.errors import ChatNotFound, InvalidCursor, LogDeleted, RunNotFound
from mobox.events.entries import NO_ENTRIES, Entries
from mobox.events.turn import PromptPart, UserMessage
from mobox.storage.chats import MOST_PINNED, Chat, ChatPage, read_cursor
from mobox.storage.encoding import EVENTS_PER_ROW, decode_pieces
from mobox.storage.excerpts import HITS, Excerpt, Hit, excerpt_of
from mobox.storage.health import Load, load_of
from mobox.storage.log import PAGE, Position, RawEntry, Run, RunId
from mobox.storage.postgres.database import NOW, Connection, storable
from mobox.storage.postgres.search_index import is_complete
from mobox.storage.run_lists import RunFilter, RunPage
from mobox.storage.run_queries import CURSOR, START, list_query, run_page
from mobox.storage.tables import (
    CHAT,
    LATEST,
    MOST,
    RUN,
    Row,
    active_runs_of,
    chat_of,
    chat_page,
    failed_of,
    hits_of,
    raw_entry_of,
    run_of,
)

# Runs


async def find_run(connection: Connection, run_id: str, lock: str = "") -> tuple[int, int, Run]:
    """The numbers of a run and of its chat, and the run itself."""
    row = await connection.fetchrow(f"{RUN} WHERE run.id = $1 {lock}", run_id)
    if row is None:
        raise RunNotFound(run_id)
    return row[0], row[1], run_of(row)


async def owned_run(
    connection: Connection, owner: str, run_id: str, lock: str = ""
) -> tuple[int, Run]:
    """A run's number and the run, if it is this owner's."""
    find = f"{RUN} WHERE run.id = $1 AND chat.owner = $2 {lock}"
    if (row := await connection.fetchrow(find, run_id, owner)) is not None:
        return row[0], run_of(row)
    deleted = "SELECT 1 FROM deleted_run WHERE id = $1 AND owner = $2"
    is_deleted = await connection.fetchval(deleted, run_id, owner) is not None
    raise LogDeleted(run_id) if is_deleted else RunNotFound(run_id)


async def run_in_chat(
    connection: Connection, owner: str, chat_id: str, run_id: str, lock: str = ""
) -> tuple[int, int]:
    """The numbers of a chat and of one of its runs."""
    chat, _ = await find_chat(connection, owner, chat_id)
    n, found = await owned_run(connection, owner, run_id, lock)
    if found.chat_id != chat_id:
        raise RunNotFound(run_id)
    return chat, n


async def run(connection: Connection, owner: str, run_id: str) -> Run:
    return (await owned_run(connection, owner, run_id))[1]


async def runs_of_chat(connection: Connection, owner: str, chat_id: str) -> list[Run]:
    find = "WHERE chat.id = $1 AND chat.owner = $2 ORDER BY run.n"
    found = await _runs(connection, find, chat_id, owner)
    if not found:
        await find_chat(connection, owner, chat_id)
    return found


_NEXT: Final = f"""
{RUN} WHERE run.chat = (SELECT n FROM chat WHERE id = $1 AND owner = $2) AND run.n > $3
ORDER BY run.n LIMIT 1
"""


async def run_after(
    connection: Connection, owner: str, chat_id: str, run_id: RunId | None
) -> Run | None:
    """See `Chats.run_after`; nothing if it has not started yet."""
    after = 0
    if run_id is not None:
        after, before = await owned_run(connection, owner, run_id)
        if before.chat_id != chat_id:
            raise RunNotFound(run_id)
    row = await connection.fetchrow(_NEXT, chat_id, owner, after)
    return run_of(row) if row is not None else None


async def busy_chats(connection: Connection, owner: str) -> set[str]:
    running = "SELECT chat.id FROM run JOIN chat ON chat.n = run.chat WHERE run.status = 'running'"
    return {row[0] for row in await connection.fetch(f"{running} AND owner = $1", owner)}


async def list_runs(
    connection: Connection, owner: str, filter_: RunFilter, before: str | None, limit: int
) -> RunPage:
    """See `Chats.list_runs`."""
    cursor = read_cursor(before, CURSOR) if before is not None else START
    row = "($2::bigint, $3::bigint, $4::bigint)"
    query = list_query(filter_, "$1", row, "$6", "$5::bigint")
    agent = [] if filter_.agent is None else [storable(filter_.agent)]
    return run_page(await connection.fetch(query, owner, *cursor, limit + 1, *agent), limit)


async def latest_runs(connection: Connection, chat_ids: Sequence[str]) -> dict[str, RunId]:
    """The last run of each of these chats, without those that have none."""
    last = "SELECT id FROM run WHERE chat = chat.n ORDER BY n DESC LIMIT 1"
    find = f"SELECT chat.id, last.id FROM chat, LATERAL ({last}) AS last WHERE chat.id = ANY($1)"
    return dict(map(tuple, await connection.fetch(find, list(chat_ids))))


_EXPIRED: Final = f"""
{RUN} WHERE run.status = 'running' AND run.lease_until <= coalesce($1::bigint, {NOW}) AND (
    $1::bigint IS NOT NULL
    OR pg_postmaster_start_time() + $2 * interval '1 millisecond' <= clock_timestamp()
) ORDER BY run.n
"""


async def expired_runs(connection: Connection, now: int | None, lease_ms: int) -> list[Run]:
    """A process that could not renew a lease during an outage has not lost it.

    So leases do not expire before the database has been up for as long as a lease lasts.
    """
    rows = await connection.fetch(_EXPIRED, now, lease_ms)
    return [run_of(row) for row in rows]


async def load(connection: Connection, holder: str, now: int, queue_ms: int) -> Load:
    """The queued runs, and those that `holder` executes."""
    is_queued = "lease_owner IS NULL AND lease_until > $2"
    row = await connection.fetchrow(
        f"SELECT count(*) FILTER (WHERE {is_queued}), min(lease_until) FILTER (WHERE {is_queued}),"
        " count(*) FILTER (WHERE lease_owner = $1) FROM run WHERE status = 'running'",
        holder,
        now,
    )
    queued, first_until, leases = row
    return load_of(queued, first_until, leases, now, queue_ms)


async def has_queued_runs(connection: Connection, now: int) -> bool:
    """Whether there is a run to claim."""
    is_queued = "status = 'running' AND lease_owner IS NULL AND lease_until > $1"
    return bool(
        await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM run WHERE {is_queued})", now)
    )


async def has_active_worker(connection: Connection, now: int) -> bool:
    is_executed = "lease_owner IS NOT NULL AND lease_until > $1 AND tail_seq > 0"
    find = f"SELECT 1 FROM run WHERE status = 'running' AND {is_executed}"
    return bool(await connection.fetchval(f"SELECT EXISTS ({find})", now))


async def stopping_runs(connection: Connection, holder: str) -> list[Run]:
    is_stopping = "run.lease_owner = $1 AND run.stop_requested_at IS NOT NULL"
    return await _runs(
        connection, f"WHERE run.status = 'running' AND {is_stopping} ORDER BY run.n", holder
    )


_LEFT_WAITING: Final = """
WHERE run.status != 'done' AND run.status = 'waiting' AND (
    run.stop_requested_at < $1 OR EXISTS (
        SELECT 1 FROM run AS later
        WHERE later.chat = run.chat AND later.n > run.n AND later.started_at < $1
    )
) ORDER BY run.n
"""


async def left_waiting(connection: Connection, before: int) -> list[Run]:
    return await _runs(connection, _LEFT_WAITING, before)


async def runs_still_there(connection: Connection, run_ids: Collection[RunId]) -> dict[RunId, Run]:
    found = await _runs(connection, "WHERE run.id = ANY($1)", [*run_ids])
    return {run.id: run for run in found}


async def _runs(connection: Connection, where: str, *values: Any) -> list[Run]:
    return [run_of(row) for row in await connection.fetch(f"{RUN} {where}", *values)]


# Logs


async def positions(connection: Connection, run_ids: Sequence[RunId]) -> dict[RunId, Position]:
    """The positions of logs, without those that do not exist."""
    find = "SELECT id, tail_seq, status FROM run WHERE id = ANY($1)"
    rows = await connection.fetch(find, list(run_ids))
    return {id_: Position(tail, status) for id_, tail, status in rows}


_PAGE_BYTES: Final = 256 * 1024
_PAGE: Final = f"""
SELECT run.tail_seq, page.last_seq, page.count, page.first_id, page.ts, page.events
FROM run LEFT JOIN LATERAL (
    SELECT *, sum(octet_length(events)) OVER (ORDER BY last_seq) - octet_length(events) AS before
    FROM event WHERE event.run = run.n AND event.last_seq > $2
        AND event.last_seq < $2 + $3::bigint + {EVENTS_PER_ROW}
        AND event.last_seq - event.count < $2 + $3::bigint
) AS page ON page.before < {_PAGE_BYTES}
WHERE run.id = $1 ORDER BY page.last_seq
"""


async def read_log(connection: Connection, run_id: RunId, after: int, limit: int) -> Entries:
    """A page also has a limit in bytes: a slow reader holds no more."""
    rows = await connection.fetch(_PAGE, run_id, max(-1, min(after, MOST)), limit)
    if not rows:
        raise RunNotFound(run_id)
    if not 0 <= after <= rows[0][0]:
        raise InvalidCursor(after, rows[0][0])
    if rows[0][1] is None:
        return NO_ENTRIES
    entries = _entries_of([tuple(row)[1:] for row in rows])
    start = after + 1 - entries.first  # inside the first row, for a reader that starts there
    return entries[start : start + limit]


def _entries_of(rows: Sequence[Row]) -> Entries:
    """The entries of consecutive rows: last_seq, count, first_id, ts, events."""
    pieces = decode_pieces(b",".join([row[4] for row in rows]))
    return Entries(rows[-1][0], pieces, partial(_ids_of, rows), partial(_times_of, rows))


def _ids_of(rows: Sequence[Row]) -> list[int]:
    return [id_ for _, count, first, _, _ in rows for id_ in range(first, first + count)]


def _times_of(rows: Sequence[Row]) -> list[int | None]:
    return [ts for _, count, _, ts, _ in rows for _ in range(count)]


async def raw_lines(
    connection: Connection, run_id: RunId, after: int = 0, limit: int = PAGE
) -> list[RawEntry]:
    find = """
    SELECT raw.n, line, first_seq, last_seq FROM raw JOIN run ON run.n = raw.run
    WHERE run.id = $1 AND raw.n > $2 ORDER BY raw.n LIMIT $3
    """
    return list(map(raw_entry_of, await connection.fetch(find, run_id, after, limit)))


# Chats


async def chat(connection: Connection, owner: str, chat_id: str) -> Chat:
    return (await find_chat(connection, owner, chat_id))[1]


async def find_chat(
    connection: Connection, owner: str, chat_id: str, lock: str = ""
) -> tuple[int, Chat]:
    """A chat's number and the chat, if it is this owner's."""
    find = f"{CHAT} WHERE id = $1 AND owner = $2 {lock}"
    row = await connection.fetchrow(find, chat_id, owner)
    if row is None:
        raise ChatNotFound(chat_id)
    return row[0], chat_of(row)


_LAST_AGENT: Final = "(SELECT agent FROM run WHERE run.chat = chat.n ORDER BY run.n DESC LIMIT 1)"
_PINNED: Final = f"""
{CHAT} WHERE owner = $1 AND pinned_at IS NOT NULL AND ($2 = '' OR {_LAST_AGENT} = $2)
ORDER BY pinned_at, n LIMIT {MOST_PINNED}
"""
_AGENTS: Final = f"SELECT id, {_LAST_AGENT} FROM chat WHERE n = ANY($1)"
_LIST: Final = f"""
{CHAT} WHERE owner = $1 AND (updated_at, n) < ($2, $3)
    AND ($6 = '' OR {_LAST_AGENT} = $6) AND ($5 = '' OR strpos(words, $5) > 0 OR {{found}})
ORDER BY updated_at DESC, n DESC LIMIT $4
"""
_BY_TEXT: Final = """EXISTS (
    SELECT 1 FROM message
    WHERE message.chat = chat.n AND NOT superseded AND strpos(message.words, $5) > 0
)"""
_BY_INDEX: Final = "chat.n = ANY($7::bigint[])"
_MOST_FOUND: Final = 5000
"""Messages that the index may find for one query; more are not narrowed down."""
_FIND: Final = f"""
SELECT chat FROM message WHERE words LIKE $1 AND NOT superseded LIMIT {_MOST_FOUND + 1}
"""
_ESCAPES: Final = str.maketrans({character: "\\" + character for character in "\\%_"})
_TRIGRAM: Final = 3
_ACTIVE: Final = f"""
{RUN} WHERE run.chat = ANY($1) AND run.status != 'done' AND NOT run.superseded
ORDER BY run.status = 'running', run.n
"""
_ENDED: Final = """
SELECT DISTINCT ON (chat) chat, reason FROM run
WHERE chat = ANY($1) AND NOT superseded ORDER BY chat, n DESC
"""


async def list_chats(
    connection: Connection, owner: str, before: str | None, limit: int, query: str, agent: str
) -> ChatPage:
    updated_at, n = read_cursor(before, 2) if before is not None else LATEST
    values = (owner, updated_at, n, limit + 1, query.casefold(), agent)
    found = await _find_by_index(connection, query.casefold())
    if found is None:
        rows = await connection.fetch(_LIST.format(found=_BY_TEXT), *values)
    else:
        rows = await connection.fetch(_LIST.format(found=_BY_INDEX), *values, found)
    is_first = before is None and not query
    pinned = await connection.fetch(_PINNED, owner, agent) if is_first else []
    shown = list({row[0]: None for row in (*rows[:limit], *pinned)})
    agents = await connection.fetch(_AGENTS, shown)
    return replace(
        chat_page(rows, limit),
        active=await active_runs(connection, shown),
        failed=failed_of((*rows[:limit], *pinned), await connection.fetch(_ENDED, shown)),
        pinned=tuple(map(chat_of, pinned)),
        agents={chat_id: name for chat_id, name in agents if name is not None},
        hits=await _hits(connection, shown, query) if query else {},
    )


async def _find_by_index(connection: Connection, query: str) -> list[int] | None:
    """The chats of all owners with a query in their messages; `None` if the index cannot tell."""
    if len(query) < _TRIGRAM or not await is_complete(connection):
        return None
    await connection.execute("SET LOCAL enable_seqscan = off")  # the estimate may be wrong
    rows = await connection.fetch(_FIND, f"%{query.translate(_ESCAPES)}%")
    await connection.execute("SET LOCAL enable_seqscan = on")
    return None if len(rows) > _MOST_FOUND else [chat for (chat,) in rows]


_LONGEST: Final = 100_000
"""Characters of a message whose own text is read; of a longer one, its words in lower case."""
_HITS: Final = f"""
SELECT chat.id, found.id, found.role, found.words, found.content, found.parts
FROM unnest($1::bigint[]) WITH ORDINALITY AS shown (n, place) JOIN chat ON chat.n = shown.n
JOIN LATERAL (
    SELECT n, id, role,
        substr(words, greatest(strpos(words, $2) - 200, 1), 600 + length($2)) AS words,
        CASE WHEN length(words) < {_LONGEST} THEN body ->> 'content' END AS content,
        CASE WHEN length(words) < {_LONGEST} AND role = 'user' THEN parts END AS parts
    FROM message WHERE message.chat = chat.n AND NOT superseded AND strpos(words, $2) > 0
    ORDER BY n DESC LIMIT {HITS}
) AS found ON TRUE
ORDER BY shown.place, found.n
"""


async def _hits(connection: Connection, chats: list[int], query: str) -> dict[str, tuple[Hit, ...]]:
    rows = await connection.fetch(_HITS, chats, query.casefold())
    return hits_of((row[0], row[1], row[2], _excerpt(query, *row[3:])) for row in map(tuple, rows))


_decode_parts = msgspec.json.Decoder(tuple[PromptPart, ...]).decode


def _excerpt(query: str, words: str, content: str | None, parts: str | None) -> Excerpt | None:
    """Around the query in a message's own text, else in its words, which are in lower case."""
    text = UserMessage(id="", parts=_decode_parts(parts)).text if parts is not None else content
    return excerpt_of(text or "", query) or excerpt_of(words, query)


async def active_runs(connection: Connection, chats: list[int]) -> tuple[Run, ...]:
    """The running run of each chat; else its last waiting one."""
    return active_runs_of(await connection.fetch(_ACTIVE, chats))
