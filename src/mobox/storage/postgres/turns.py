"""The changes of owners and supervisors: each in a transaction, all or nothing.

Rule 1: a change of a chat and its runs locks the chat's row first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from mobox.errors import ChatNotFound, Fenced, InvalidRequest, RunActive, RunNotFound
from mobox.events import DoneReason
from mobox.events.turn import HistoryMessage, Request, TurnKind, UserMessage
from mobox.storage.chats import BegunTurn, Chat
from mobox.storage.log import ReaderState, Run, RunId
from mobox.storage.postgres.client_requests import add_request
from mobox.storage.postgres.database import Connection, Transaction, storable
from mobox.storage.postgres.messages import columns_of
from mobox.storage.postgres.reads import find_chat, find_run, owned_run
from mobox.storage.runs import (
    Lease,
    claimed,
    handed_over,
    queued,
    requeued,
    stop_requested,
    taken_over,
)
from mobox.storage.tables import (
    CHANGING_COLUMNS,
    RUN,
    changing_values,
    run_of,
)
from mobox.storage.titles import title_of
from mobox.storage.turns import (
    check_repeated,
    client_request,
    fingerprint,
    kind_of,
    new_run_id,
    plan_turn,
)

# Turns


async def begin_turn(
    transaction: Transaction, owner: str, request: Request, agent: tuple[str, str], queue: bool
) -> BegunTurn:
    """`agent` is its id and its framework."""
    _check_names(request)
    connection = transaction.connection
    if (known := await _known_run(connection, owner, request)) is not None:
        return BegunTurn(run=known, created=False)
    chat = await _chat_for(transaction, owner, request)
    # Once more: another transaction may have started it while we waited for the chat's lock.
    if (known := await _known_run(connection, owner, request)) is not None:
        return BegunTurn(run=known, created=False)
    await _check_none_runs(connection, chat)
    live = await _live(connection, chat)
    plan = plan_turn([message for _, message in live], request)
    removed = [n for n, _ in live[plan.kept :]]
    kind = kind_of(plan, await _reason(connection, removed))
    await _supersede(connection, removed)
    lease = transaction.queue if queue else transaction.lease
    n, run = await _add_run(transaction, chat, agent, (kind, plan.back_to), lease)
    parent = live[plan.kept - 1][0] if plan.kept else None
    await _add_messages(transaction, (chat, parent), plan.added, n, run)
    if (named_request := client_request(request)) is not None:
        await add_request(connection, n, named_request)
    if request.idempotency_key is not None:
        key = (owner, request.idempotency_key, fingerprint(request), n)
        await connection.execute("INSERT INTO idempotency_key VALUES ($1, $2, $3, $4)", *key)
    return BegunTurn(run=run, created=True)


def _check_names(request: Request) -> None:
    """Reject zero bytes: without them, a name could be equal to another one."""
    message_id = "" if request.message is None else request.message.id
    names = {"id": request.chat_id, "message.id": message_id, "name": request.name}
    for field, name in {**names, "idempotency key": request.idempotency_key}.items():
        if name is not None and "\0" in name:
            raise InvalidRequest(field, "must not contain zero bytes")


async def _known_run(connection: Connection, owner: str, request: Request) -> Run | None:
    key = request.idempotency_key
    if key is None:
        return None
    find = "SELECT fingerprint, run FROM idempotency_key WHERE owner = $1 AND key = $2"
    row = await connection.fetchrow(find, owner, key)
    if row is None:
        return None
    check_repeated(key, row[0], request)
    return run_of(await connection.fetchrow(f"{RUN} WHERE run.n = $1", row[1]))


_CHAT_FOR: Final = """
INSERT INTO chat (id, owner, title, words, created_at, updated_at, weak_title)
VALUES ($1, $2, $3, $4, $5, $5, $6)
ON CONFLICT (id) DO UPDATE SET updated_at = $5 WHERE chat.owner = excluded.owner RETURNING n
"""
_BETTER_TITLE: Final = """
UPDATE chat SET title = $2, words = $3, weak_title = FALSE WHERE n = $1 AND weak_title
"""


async def _chat_for(transaction: Transaction, owner: str, request: Request) -> int:
    """The row number of the chat, created if there is none, and locked until the commit."""
    made = title_of(request.message)
    title = storable(made.text)
    words = title.casefold()
    values = (request.chat_id, owner, title, words, transaction.now, made.is_weak)
    n: int | None = await transaction.connection.fetchval(_CHAT_FOR, *values)
    if n is None:
        raise ChatNotFound(request.chat_id)
    if not made.is_weak:
        await transaction.connection.execute(_BETTER_TITLE, n, title, words)
    return n


async def _check_none_runs(connection: Connection, chat: int) -> None:
    """One running run per chat."""
    find = "SELECT id FROM run WHERE chat = $1 AND status = 'running'"
    if (run_id := await connection.fetchval(find, chat)) is not None:
        raise RunActive(run_id)


async def _live(connection: Connection, chat: int) -> list[tuple[int, HistoryMessage]]:
    find = "SELECT n, id, role FROM message WHERE chat = $1 AND NOT superseded ORDER BY n"
    rows = await connection.fetch(find, chat)
    return [(n, HistoryMessage(id=id_, role=role)) for n, id_, role in rows]


_SUPERSEDE: Final = """
WITH messages AS (UPDATE message SET superseded = TRUE WHERE n = ANY($1) RETURNING run)
UPDATE run SET superseded = TRUE FROM messages WHERE run.n = messages.run
"""


async def _supersede(connection: Connection, messages: list[int]) -> None:
    if messages:
        await connection.execute(_SUPERSEDE, messages)


_ADD_RUN: Final = """
INSERT INTO run (
    id, chat, agent, framework, status, epoch, leg, lease_owner, lease_until, tail_seq,
    started_at, superseded, kind, back_to, raw_lines, raw_bytes, unstarted
) VALUES ($1, $2, $3, $4, 'running', 1, 1, $5, $6, 0, $7, FALSE, $8, $9, 0, 0, 1) RETURNING n
"""
_ADD_MESSAGE: Final = """
INSERT INTO message (
    chat, parent, id, role, run, created_at, words, parts, message_metadata, body, verbatim
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING n
"""


async def _reason(connection: Connection, removed: list[int]) -> DoneReason | None:
    """How the first of these answers ended."""
    if not removed:
        return None
    find = "SELECT reason FROM run WHERE n = (SELECT run FROM message WHERE n = $1)"
    reason: DoneReason | None = await connection.fetchval(find, removed[0])
    return reason


async def _add_run(
    transaction: Transaction,
    chat: int,
    agent: tuple[str, str],
    why: tuple[TurnKind, str | None],
    lease: Lease,
) -> tuple[int, Run]:
    connection, now = transaction.connection, transaction.now
    row = (new_run_id(now), chat, *agent, lease.owner, lease.until, now, *why)
    n = await connection.fetchval(_ADD_RUN, *row)
    return n, run_of(await connection.fetchrow(f"{RUN} WHERE run.n = $1", n))


async def _add_messages(
    transaction: Transaction,
    place: tuple[int, int | None],
    added: UserMessage | None,
    n: int,
    run: Run,
) -> None:
    """Add the user's message, if there is one, and the answer, after the chat's `parent`."""
    connection, now, (chat, parent) = transaction.connection, transaction.now, place
    if added is not None:
        words = storable(added.text.casefold())
        row = (chat, parent, added.id, "user", None, now, words, *columns_of(added))
        parent = await connection.fetchval(_ADD_MESSAGE, *row)
    answer = (chat, parent, run.id, "assistant", n, now, "", *[None] * 4)
    await connection.execute(_ADD_MESSAGE, *answer)


# Leases

_LOCKED: Final = "FOR NO KEY UPDATE OF run"
_SAVE_RUN: Final = f"""
UPDATE run SET {", ".join(f"{name} = ${n}" for n, name in enumerate(CHANGING_COLUMNS, 2))}
WHERE n = $1
"""


async def take_over(transaction: Transaction, run_id: RunId, epoch: int) -> Run:
    n, before = await _written_run(transaction.connection, run_id, epoch)
    run = taken_over(before, epoch, transaction.lease, transaction.now)
    await _save_run(transaction.connection, n, run)
    return run


async def hand_over(transaction: Transaction, run_id: RunId, epoch: int) -> None:
    n, before = await _written_run(transaction.connection, run_id, epoch)
    await _save_run(transaction.connection, n, handed_over(before, epoch))


async def queue(transaction: Transaction, run_id: RunId, epoch: int) -> None:
    n, before = await _written_run(transaction.connection, run_id, epoch)
    await _save_run(transaction.connection, n, queued(before, epoch, transaction.queue.until))


async def requeue(transaction: Transaction, run_id: RunId, epoch: int) -> None:
    n, before = await _written_run(transaction.connection, run_id, epoch)
    run = requeued(before, epoch, transaction.queue.until, transaction.now)
    await _save_run(transaction.connection, n, run)


_QUEUED: Final = f"""
{RUN} WHERE run.status = 'running' AND run.lease_owner IS NULL AND run.lease_until > $1
    AND run.agent = ANY($2) AND chat.owner != ALL($3)
ORDER BY run.lease_until, run.n LIMIT $4 {_LOCKED} SKIP LOCKED
"""


async def claim(
    transaction: Transaction, agents: Collection[str], limit: int, sparing: Collection[str]
) -> list[Run]:
    """Skips runs that another process is about to claim."""
    connection, now = transaction.connection, transaction.now
    rows = await connection.fetch(_QUEUED, now, list(agents), list(sparing), limit)
    mine = [(row[0], claimed(run_of(row), transaction.lease, now)) for row in rows]
    for n, run in mine:
        await _save_run(connection, n, run)
    return [run for _, run in mine]


async def _save_run(connection: Connection, n: int, run: Run) -> None:
    await connection.execute(_SAVE_RUN, n, *changing_values(run))


async def _written_run(connection: Connection, run_id: RunId, epoch: int) -> tuple[int, Run]:
    try:
        n, _, run = await find_run(connection, run_id, _LOCKED)
    except RunNotFound as error:
        raise Fenced(run_id, epoch) from error
    return n, run


async def request_stop(transaction: Transaction, owner: str, run_id: str) -> Run:
    n, run = await owned_run(transaction.connection, owner, run_id, _LOCKED)
    stopping = stop_requested(run, transaction.now)
    if stopping is not run:
        await _save_run(transaction.connection, n, stopping)
    return stopping


# Readers

_SET_READER: Final = """
INSERT INTO reader (run, process, state) SELECT n, $1, $2 FROM run WHERE id = $3 FOR KEY SHARE
ON CONFLICT (run, process) DO UPDATE SET state = excluded.state
"""
_REMOVE_READER: Final = (
    "DELETE FROM reader WHERE process = $1 AND run = (SELECT n FROM run WHERE id = $2)"
)
_READERS: Final = "SELECT DISTINCT state FROM reader WHERE run = (SELECT n FROM run WHERE id = $1)"


async def set_reader(transaction: Transaction, run_id: RunId, state: ReaderState | None) -> None:
    process, connection = transaction.lease.owner, transaction.connection
    if state is None:
        await connection.execute(_REMOVE_READER, process, run_id)
    else:
        await connection.execute(_SET_READER, process, state, run_id)


async def readers(connection: Connection, run_id: RunId) -> set[ReaderState]:
    return {row[0] for row in await connection.fetch(_READERS, run_id)}


# Chats

_DELETE: Final = """
WITH gone AS (DELETE FROM run WHERE chat = $1 RETURNING n, id),
    left_behind AS (INSERT INTO leftover SELECT n FROM gone),
    noted AS (INSERT INTO deleted_run (id, owner, deleted_at) SELECT id, $2, $3 FROM gone)
SELECT id FROM gone
"""


async def rename_chat(transaction: Transaction, owner: str, chat_id: str, title: str) -> Chat:
    connection = transaction.connection
    n, chat = await find_chat(connection, owner, chat_id, "FOR NO KEY UPDATE")
    change = "UPDATE chat SET title = $2, words = $3, weak_title = FALSE WHERE n = $1"
    await connection.execute(change, n, title, title.casefold())
    return replace(chat, title=title)


async def pin_chat(transaction: Transaction, owner: str, chat_id: str, is_pinned: bool) -> Chat:
    connection = transaction.connection
    n, chat = await find_chat(connection, owner, chat_id, "FOR NO KEY UPDATE")
    pinned_at = (chat.pinned_at or transaction.now) if is_pinned else None
    await connection.execute("UPDATE chat SET pinned_at = $2 WHERE n = $1", n, pinned_at)
    return replace(chat, pinned_at=pinned_at)


async def delete_chat(transaction: Transaction, owner: str, chat_id: str) -> list[RunId]:
    """Delete a chat, all but its logs; return its runs."""
    connection = transaction.connection
    n, _ = await find_chat(connection, owner, chat_id, "FOR UPDATE")
    rows = await connection.fetch(_DELETE, n, owner, transaction.now)
    await connection.execute("DELETE FROM chat WHERE n = $1", n)
    return [RunId(run_id) for (run_id,) in rows]
