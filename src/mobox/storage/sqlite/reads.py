"""Queries of runs, logs and lists of chats, and of the rows that hold events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from mobox.errors import ChatNotFound, InvalidCursor, LogDeleted, RunNotFound
from mobox.events import LogEntry
from mobox.events.entries import NO_ENTRIES, Entries
from mobox.events.message import Message
from mobox.events.shortening import bounded_message
from mobox.storage.chats import (
    MOST_PINNED,
    Chat,
    ChatPage,
    MessagePage,
    RunFacts,
    StoredMessage,
    read_cursor,
    write_cursor,
)
from mobox.storage.encoding import decode_pieces
from mobox.storage.excerpts import HITS, Hit, excerpt_of
from mobox.storage.log import PAGE, Position, RawEntry, Run, RunId
from mobox.storage.run_lists import RunFilter, RunPage
from mobox.storage.run_queries import CURSOR, START, list_query, run_page, usage_columns
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.search import find_by_index
from mobox.storage.tables import (
    CHAT,
    LATEST,
    MOST,
    PAGE_BYTES,
    RUN,
    Fold,
    Row,
    active_runs_of,
    answer_of,
    cached_facts,
    cached_message,
    chat_of,
    chat_page,
    encode_json,
    facts_of,
    failed_of,
    hits_of,
    raw_entry_of,
    run_of,
    size_of,
    user_message_of,
)

# Runs


def find_run(connection: Connection, run_id: str) -> tuple[int, int, Run]:
    """The numbers of a run and of its chat, and the run itself."""
    row = connection.execute(f"{RUN} WHERE run.id = ?", (run_id,)).fetchone()
    if row is None:
        raise RunNotFound(run_id)
    return row[0], row[1], run_of(row)


def owned_run(connection: Connection, owner: str, run_id: str) -> tuple[int, Run]:
    """A run's number and the run, if it is this owner's."""
    find = f"{RUN} WHERE run.id = ? AND chat.owner = ?"
    if row := connection.execute(find, (run_id, owner)).fetchone():
        return row[0], run_of(row)
    deleted = "SELECT 1 FROM deleted_run WHERE id = ? AND owner = ?"
    is_deleted = connection.execute(deleted, (run_id, owner)).fetchone() is not None
    raise LogDeleted(run_id) if is_deleted else RunNotFound(run_id)


def run_in_chat(connection: Connection, owner: str, chat_id: str, run_id: str) -> tuple[int, int]:
    """The numbers of a chat and of one of its runs."""
    chat, _ = find_chat(connection, owner, chat_id)
    n, found = owned_run(connection, owner, run_id)
    if found.chat_id != chat_id:
        raise RunNotFound(run_id)
    return chat, n


def run(connection: Connection, owner: str, run_id: str) -> Run:
    return owned_run(connection, owner, run_id)[1]


def runs_of_chat(connection: Connection, owner: str, chat_id: str) -> list[Run]:
    n, _ = find_chat(connection, owner, chat_id)
    rows = connection.execute(f"{RUN} WHERE run.chat = ? ORDER BY run.n", (n,))
    return [run_of(row) for row in rows]


_NEXT = f"""
{RUN} WHERE run.chat = (SELECT n FROM chat WHERE id = ? AND owner = ?) AND run.n > ?
ORDER BY run.n LIMIT 1
"""


def run_after(connection: Connection, owner: str, chat_id: str, run_id: RunId | None) -> Run | None:
    """See `Chats.run_after`; nothing if it has not started yet."""
    after = 0
    if run_id is not None:
        after, before = owned_run(connection, owner, run_id)
        if before.chat_id != chat_id:
            raise RunNotFound(run_id)
    row = connection.execute(_NEXT, (chat_id, owner, after)).fetchone()
    return run_of(row) if row is not None else None


def busy_chats(connection: Connection, owner: str) -> set[str]:
    running = "SELECT chat.id FROM run JOIN chat ON chat.n = run.chat WHERE run.status = 'running'"
    return {chat_id for (chat_id,) in connection.execute(f"{running} AND owner = ?", (owner,))}


def list_runs(
    connection: Connection, owner: str, filter_: RunFilter, before: str | None, limit: int
) -> RunPage:
    """See `Chats.list_runs`."""
    cursor = read_cursor(before, CURSOR) if before is not None else START
    query = list_query(filter_, "?1", "(?2, ?3, ?4)", "?6", "?5")
    agent = [] if filter_.agent is None else [filter_.agent]
    rows = connection.execute(query, (owner, *cursor, limit + 1, *agent)).fetchall()
    return run_page(rows, limit)


def latest_runs(connection: Connection, chat_ids: Sequence[str]) -> dict[str, RunId]:
    """The last run of each of these chats, without those that have none."""
    last = "SELECT id FROM run WHERE chat = chat.n ORDER BY n DESC LIMIT 1"
    find = f"SELECT id, ({last}) FROM chat WHERE id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(find, (json.dumps(chat_ids),))
    return {chat_id: run_id for chat_id, run_id in rows if run_id is not None}


# Logs


def positions(connection: Connection, run_ids: Sequence[RunId]) -> dict[RunId, Position]:
    """The positions of logs, without those that do not exist."""
    find = "SELECT id, tail_seq, status FROM run WHERE id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(find, (json.dumps(run_ids),))
    return {id_: Position(tail, status) for id_, tail, status in rows}


# A page is one statement that returns one row. Each fetched row releases the GIL, and with a busy
# event loop this thread then waits up to 5 ms to get it back.
_AHEAD = "run = (SELECT n FROM found) AND last_seq > :after"
_FIND_PAGE = f"""
WITH
    found AS (SELECT n, tail_seq FROM run WHERE id = :run_id),
    next AS (SELECT min(last_seq) AS seq FROM event WHERE {_AHEAD}),
    big AS (
        SELECT min(last_seq) AS seq FROM event INDEXED BY big_event
        WHERE {_AHEAD} AND length(events) > 512 * count
    )
SELECT
    (SELECT tail_seq FROM found), max(last_seq), json_group_array(count),
    json_group_array(ifnull(ids, first_id)), json_group_array(ifnull(times, ts)),
    CAST(group_concat(events, ',') AS BLOB)
FROM (
    SELECT last_seq, count, first_id, ts, events, ids, times FROM event
    WHERE {_AHEAD} AND last_seq <= (
        SELECT max(next.seq, min(:after + :limit, ifnull(big.seq, :most))) FROM next, big
    )
    ORDER BY last_seq
)
"""


_AHEAD_BYTES = 256 * 1024


class _Page(NamedTuple):
    """A part of a log as the database returns it: undecoded it is small, and can wait."""

    after: int
    limit: int
    tail: int
    last_seq: int
    numbers: tuple[str, str, str]
    events: bytes

    @property
    def through(self) -> int:
        """The last entry's number."""
        return min(self.last_seq, self.after + self.limit)

    def entries(self) -> Entries:
        """Its entries, at least one."""
        counts, ids, times = self.numbers
        pieces = decode_pieces(self.events)  # of all rows at once
        entries = Entries(
            self.last_seq, pieces, partial(ids_of, counts, ids), partial(times_of, counts, times)
        )
        start = self.after + 1 - entries.first  # inside a row, for a reader that starts there
        return entries[start : start + self.limit]


def read_log(connection: Connection, run_id: RunId, after: int, limit: int) -> Entries:
    page = _read_page(connection, run_id, after, limit)
    return page.entries() if page is not None else NO_ENTRIES


def read_ahead(connection: Connection, run_id: RunId, after: int) -> list[_Page]:
    """The pages after `after`: several, since switching to this thread costs more than a page.

    Their size in bytes is bounded, as a slow reader holds them in memory.
    """
    pages: list[_Page] = []
    left = _AHEAD_BYTES
    while (page := _read_page(connection, run_id, after, PAGE)) is not None:
        pages.append(page)
        after = page.through
        left -= len(page.events)
        if after == page.tail or left < len(page.events):
            break
    return pages


def _read_page(connection: Connection, run_id: RunId, after: int, limit: int) -> _Page | None:
    """A page ends with the first row of big events: there is an index of those."""
    values = {"run_id": run_id, "after": min(after, MOST), "limit": limit, "most": MOST}
    tail, last_seq, *numbers, events = connection.execute(_FIND_PAGE, values).fetchone()
    if tail is None:
        raise RunNotFound(run_id)
    if not 0 <= after <= tail:
        raise InvalidCursor(after, tail)
    if last_seq is None:
        return None
    return _Page(after, limit, tail, last_seq, tuple(numbers), events)


def iterate_log(connection: Connection, run_id: RunId) -> Iterator[LogEntry]:
    """A whole log, a page at a time."""
    after = 0
    while page := read_log(connection, run_id, after, PAGE):
        yield from page
        after = page[-1].seq


def raw_lines(
    connection: Connection, run_id: RunId, after: int = 0, limit: int = PAGE
) -> list[RawEntry]:
    find = """
    SELECT raw.n, line, first_seq, last_seq FROM raw JOIN run ON run.n = raw.run
    WHERE run.id = ? AND raw.n > ? ORDER BY raw.n LIMIT ?
    """
    return list(map(raw_entry_of, connection.execute(find, (run_id, after, limit))))


# The rows of a page, as lists: their numbers of events, their ids and their times

_decode_json: Callable[[str], Any] = msgspec.json.decode


def ids_of(counts: str, ids: str) -> list[int]:
    """The id of each event: of rows that have the first one's, or, where packed, all."""
    return _of_each(counts, ids, lambda first, count: range(first, first + count))


def times_of(counts: str, times: str) -> list[int | None]:
    """The time of each event: of rows that have one for all, or, where packed, all."""
    return _of_each(counts, times, lambda ts, count: [ts] * count)


def _of_each(counts: str, rows: str, spread: Callable[[Any, int], Iterable[Any]]) -> list[Any]:
    values: list[Any] = _decode_json(rows)
    in_each: list[int] = _decode_json(counts)
    for row in reversed([row for row, count in enumerate(in_each) if count > 1]):
        value = values[row]
        is_packed = isinstance(value, str)
        each = _decode_json(f"[{value}]") if is_packed else spread(value, in_each[row])
        values[row : row + 1] = each
    return values


# Chats


def chat(connection: Connection, owner: str, chat_id: str) -> Chat:
    return find_chat(connection, owner, chat_id)[1]


def find_chat(connection: Connection, owner: str, chat_id: str) -> tuple[int, Chat]:
    """A chat's number and the chat, if it is this owner's."""
    row = connection.execute(f"{CHAT} WHERE id = ? AND owner = ?", (chat_id, owner)).fetchone()
    if row is None:
        raise ChatNotFound(chat_id)
    return row[0], chat_of(row)


_LAST_AGENT = "(SELECT agent FROM run WHERE run.chat = chat.n ORDER BY run.n DESC LIMIT 1)"
_BY_AGENT = f"AND (:agent = '' OR {_LAST_AGENT} = :agent)"
_LISTED = f"""
WHERE owner = :owner AND (updated_at, n) < (:updated_at, :n) {{filter}} {_BY_AGENT}
ORDER BY updated_at DESC, n DESC LIMIT :limit
"""
_PINNED = f"""
{CHAT} WHERE owner = :owner AND pinned_at IS NOT NULL {_BY_AGENT}
ORDER BY pinned_at, n LIMIT {MOST_PINNED}
"""
_AGENTS = f"SELECT id, {_LAST_AGENT} FROM chat WHERE n IN (SELECT value FROM json_each(?))"
_SCANNED = """
AND ({title} OR EXISTS (
    SELECT 1 FROM message WHERE chat = chat.n AND superseded = 0 AND {content}
))
"""
_FOUND = """
AND ({title} OR chat.n IN (
    SELECT message.chat FROM json_each(:found) JOIN message ON message.n = json_each.value
    WHERE superseded = 0 AND {content}
))
"""
_LIKE = "{} LIKE :pattern ESCAPE '\\'"
_CONTAINS = "says({}, :query)"
_ACTIVE = f"""
{RUN} WHERE run.chat IN (SELECT value FROM json_each(?))
AND run.status != 'done' AND run.superseded = 0 ORDER BY run.status = 'running', run.n
"""
_ENDED = """
SELECT last.chat, last.reason FROM json_each(?) JOIN run AS last ON last.n = (
    SELECT run.n FROM run WHERE run.chat = value AND run.superseded = 0 ORDER BY run.n DESC LIMIT 1
)
"""
_ESCAPES = str.maketrans({character: "\\" + character for character in "\\%_"})


def list_chats(
    connection: Connection, owner: str, before: str | None, limit: int, query: str, agent: str
) -> ChatPage:
    updated_at, n = read_cursor(before, 2) if before is not None else LATEST
    found = find_by_index(connection, query)
    values = {
        "owner": owner,
        "updated_at": updated_at,
        "n": n,
        "limit": limit + 1,
        "pattern": f"%{query.translate(_ESCAPES)}%",
        "query": query.casefold(),
        "found": json.dumps(found),
        "agent": agent,
    }
    listed = f"{CHAT} {_LISTED.format(filter=_filter(query, found))}"
    rows = connection.execute(listed, values).fetchall()
    is_first = before is None and not query
    pinned = connection.execute(_PINNED, values).fetchall() if is_first else []
    shown = list({row[0]: None for row in (*rows[:limit], *pinned)})
    return replace(
        chat_page(rows, limit),
        active=active_runs(connection, shown),
        failed=failed_of(
            (*rows[:limit], *pinned), connection.execute(_ENDED, (json.dumps(shown),))
        ),
        pinned=tuple(map(chat_of, pinned)),
        agents=_agents(connection, shown),
        hits=_hits(connection, shown, query, values) if query else {},
    )


def _agents(connection: Connection, chats: list[int]) -> dict[str, str]:
    rows = connection.execute(_AGENTS, (json.dumps(chats),))
    return {chat_id: agent for chat_id, agent in rows if agent is not None}


_HITS = f"""
SELECT chat.id, message.id, role, content
FROM json_each(:chats) AS shown JOIN chat ON chat.n = shown.value JOIN message ON message.n IN (
    SELECT n FROM message WHERE chat = shown.value AND superseded = 0 AND {{content}}
    ORDER BY n DESC LIMIT {HITS}
)
ORDER BY shown.key, message.n
"""


def _hits(
    connection: Connection, chats: list[int], query: str, values: dict[str, Any]
) -> dict[str, tuple[Hit, ...]]:
    condition = _condition(query).format("content")
    found = connection.execute(
        _HITS.format(content=condition), {**values, "chats": json.dumps(chats)}
    )
    return hits_of((*ids, excerpt_of(text, query)) for *ids, text in found)


def active_runs(connection: Connection, chats: list[int]) -> tuple[Run, ...]:
    """The running run of each chat; else its last waiting one."""
    return active_runs_of(connection.execute(_ACTIVE, (json.dumps(chats),)).fetchall())


def _filter(query: str, found: list[int] | None) -> str:
    """LIKE is fast, but ignores case for ASCII only."""
    if not query:
        return ""
    condition = _condition(query)
    form = _SCANNED if found is None else _FOUND
    return form.format(title=condition.format("title"), content=condition.format("content"))


def _condition(query: str) -> str:
    return _LIKE if query.isascii() else _CONTAINS


# Reads messages: folds of logs, made again where the stored one is outdated.


class ReadPage(NamedTuple):
    """A page of a chat's messages, and the folds that were made for it."""

    chat: Chat
    page: MessagePage
    folds: list[Fold]


_FIND = """
SELECT message.n, message.id, role, message.created_at, CAST(body AS BLOB), folded_seq,
    run.tail_seq
FROM message LEFT JOIN run ON run.n = message.run
WHERE message.chat = ? AND message.superseded = 0 AND message.n < ? AND message.id != ?
ORDER BY message.n DESC LIMIT ?
"""


def read_page(
    connection: Connection, owner: str, chat_id: str, before: str | None, limit: int
) -> ReadPage:
    (end,) = read_cursor(before, 1) if before is not None else (MOST,)
    n, chat = find_chat(connection, owner, chat_id)
    active = next(iter(active_runs(connection, [n])), None)
    left_out = active.id if active is not None else ""
    folds: list[Fold] = []
    messages: list[StoredMessage] = []
    more, last, left = None, end, PAGE_BYTES
    for row in connection.execute(_FIND, (n, end, left_out, limit + 1)):
        if len(messages) == limit or left <= 0:
            more = write_cursor(last)
            break
        messages.append(_message(connection, row, folds))
        last = row[0]
        left -= len(row[4] or b"") or size_of(messages[-1])
    page = MessagePage(messages=tuple(reversed(messages)), active=active, before=more)
    return ReadPage(chat, page, folds)


def _message(connection: Connection, row: Row, folds: list[Fold]) -> StoredMessage:
    n, id_, role, created_at, body, folded_seq, tail_seq = row
    if role == "user":
        return user_message_of(id_, created_at, body)
    message = cached_message(body) if folded_seq == tail_seq else None
    if message is None:
        message = _fold_log(connection, id_)
        folds.append(Fold(n, tail_seq, message))
    return answer_of(id_, created_at, message)


def _fold_log(connection: Connection, run_id: str) -> Message:
    return bounded_message(iterate_log(connection, RunId(run_id)), run_id)


# What is known about runs without reading their messages

_FACTS = """
SELECT run.id, message.n, folded_seq,
    json_extract(body, '$.model', '$.simulated', '$.usage', '$.context')
FROM run JOIN message ON message.run = run.n WHERE run.chat = ? AND run.status = 'done'
"""


def read_facts(
    connection: Connection, owner: str, chat_id: str
) -> tuple[list[RunFacts], list[Fold]]:
    """The facts of all runs of a chat, and the folds that were made for them."""
    chat, _ = find_chat(connection, owner, chat_id)
    rows = {run_id: row for run_id, *row in connection.execute(_FACTS, (chat,))}
    folds: list[Fold] = []
    runs = runs_of_chat(connection, owner, chat_id)
    return [_facts(connection, run, rows.get(run.id), folds) for run in runs], folds


def _facts(connection: Connection, run: Run, row: Row | None, folds: list[Fold]) -> RunFacts:
    if row is None:
        return RunFacts(run=run)
    n, folded_seq, found = row
    is_stored = found is not None and folded_seq == run.tail_seq
    if is_stored and (facts := cached_facts(run, found)) is not None:
        return facts
    folds.append(Fold(n, run.tail_seq, _fold_log(connection, run.id)))
    return facts_of(run, folds[-1].folded)


# Folds of messages that were never read

_UNFOLDED = """
SELECT message.n, run.id, run.tail_seq
FROM run INDEXED BY unfolded_run JOIN chat ON chat.n = run.chat JOIN message ON message.run = run.n
WHERE run.status = 'done' AND run.folded = 0 AND {which} ORDER BY message.n {order} LIMIT ?
"""
_OF_OWNER = _UNFOLDED.format(
    which="chat.owner = ? AND message.folded_seq < run.tail_seq", order="DESC"
)
_OF_ALL = _UNFOLDED.format(which="message.n > ?", order="")
_OF_RUN = """
SELECT message.n, run.id, run.tail_seq FROM run JOIN message ON message.run = run.n
WHERE run.id = ? AND run.status = 'done' AND run.folded = 0
"""


class Unfolded(NamedTuple):
    """An ended run whose message is not folded from its whole log."""

    message: int
    run_id: RunId
    seq: int


def unfolded_of_owner(connection: Connection, owner: str, limit: int) -> list[Unfolded]:
    """The owner's last ones."""
    return [Unfolded(*row) for row in connection.execute(_OF_OWNER, (owner, limit))]


def unfolded_of_all(connection: Connection, after: int, limit: int) -> list[Unfolded]:
    """The next ones of all owners, by the numbers of their messages."""
    return [Unfolded(*row) for row in connection.execute(_OF_ALL, (after, limit))]


def unfolded_run(connection: Connection, run_id: RunId) -> list[Unfolded]:
    """The run, if it is one."""
    return [Unfolded(*row) for row in connection.execute(_OF_RUN, (run_id,))]


def fold(connection: Connection, behind: Unfolded) -> Fold:
    """Outside of any transaction, as logs that have ended do not change."""
    return Fold(behind.message, behind.seq, _fold_log(connection, behind.run_id))


_KEEP = """
UPDATE message SET body = ?, content = ?, folded_seq = ?,
    input_tokens = ?, output_tokens = ?, cost_usd = ?
WHERE n = ? AND folded_seq <= ?
"""
_KEPT = """
UPDATE run SET folded = 1
WHERE n = (SELECT run FROM message WHERE n = ?) AND status = 'done' AND tail_seq = ?
"""


def store_fold(transaction: Transaction, made: Fold) -> None:
    """Store a fold, unless a later one is stored."""
    fold = (encode_json(made.folded).decode(), made.searched, made.seq, *usage_columns(made))
    transaction.connection.execute(_KEEP, (*fold, made.message, made.seq))
    transaction.connection.execute(_KEPT, (made.message, made.seq))
