"""The changes of owners and supervisors: jobs of the writer, each all or nothing."""

from __future__ import annotations

import json
from collections.abc import Collection

from msgspec.structs import replace

from mobox.errors import ChatNotFound, Fenced, RunNotFound
from mobox.events import DoneReason
from mobox.events.turn import HistoryMessage, Request, TurnKind, UserMessage
from mobox.storage.chats import BegunTurn, Chat
from mobox.storage.log import ReaderState, Run, RunId
from mobox.storage.runs import (
    Lease,
    claimed,
    handed_over,
    queued,
    requeued,
    stop_requested,
    taken_over,
)
from mobox.storage.sqlite.appends import check_none_runs, save_run
from mobox.storage.sqlite.client_requests import add_request
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import find_chat, find_run, owned_run
from mobox.storage.tables import RUN, encode_json, run_of
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

_ADD_RUN = """
INSERT INTO run (
    id, chat, agent, framework, status, epoch, leg, lease_owner, lease_until, tail_seq,
    started_at, superseded, kind, back_to, raw_lines, raw_bytes, unstarted
) VALUES (?, ?, ?, ?, 'running', 1, 1, ?, ?, 0, ?, 0, ?, ?, 0, 0, 1) RETURNING n
"""
_ADD_MESSAGE = """
INSERT INTO message (chat, parent, id, role, run, created_at, content, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING n
"""


def begin_turn(
    transaction: Transaction, owner: str, request: Request, agent: tuple[str, str], queue: bool
) -> BegunTurn:
    """`agent` is its id and its framework."""
    if (known := _known_run(transaction, owner, request)) is not None:
        return BegunTurn(run=known, created=False)
    chat = _chat_for(transaction, owner, request)
    check_none_runs(transaction, chat)
    live = _live(transaction, chat)
    plan = plan_turn([message for _, message in live], request)
    removed = [n for n, _ in live[plan.kept :]]
    kind = kind_of(plan, _reason(transaction, removed))
    _supersede(transaction, removed)
    lease = transaction.queue if queue else transaction.lease
    n, run = _add_run(transaction, chat, agent, (kind, plan.back_to), lease)
    parent = live[plan.kept - 1][0] if plan.kept else None
    _add_messages(transaction, (chat, parent), plan.added, n, run)
    if (named_request := client_request(request)) is not None:
        add_request(transaction, n, named_request)
    if request.idempotency_key is not None:
        key = (owner, request.idempotency_key, fingerprint(request), n)
        transaction.connection.execute("INSERT INTO idempotency_key VALUES (?, ?, ?, ?)", key)
    return BegunTurn(run=run, created=True)


def _known_run(transaction: Transaction, owner: str, request: Request) -> Run | None:
    key = request.idempotency_key
    find = "SELECT fingerprint, run FROM idempotency_key WHERE owner = ? AND key = ?"
    row = transaction.connection.execute(find, (owner, key)).fetchone()
    if row is None or key is None:
        return None
    check_repeated(key, row[0], request)
    found = transaction.connection.execute(f"{RUN} WHERE run.n = ?", (row[1],)).fetchone()
    return run_of(found)


_ADD_CHAT = """
INSERT INTO chat (id, owner, title, weak_title, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
"""
_BETTER_TITLE = "UPDATE chat SET title = ?, weak_title = 0 WHERE n = ? AND weak_title = 1"


def _chat_for(transaction: Transaction, owner: str, request: Request) -> int:
    """The row number of the chat, created if there is none."""
    title = title_of(request.message)
    find = "SELECT n, owner FROM chat WHERE id = ?"
    row = transaction.connection.execute(find, (request.chat_id,)).fetchone()
    if row is not None and row[1] != owner:
        raise ChatNotFound(request.chat_id)
    if row is not None:
        touch = "UPDATE chat SET updated_at = ? WHERE n = ?"
        transaction.connection.execute(touch, (transaction.now, row[0]))
        if request.message is not None and not title.is_weak:
            transaction.connection.execute(_BETTER_TITLE, (title.text, row[0]))
        return int(row[0])
    now = transaction.now
    values = (request.chat_id, owner, title.text, title.is_weak, now, now)
    return transaction.connection.execute(_ADD_CHAT, values).lastrowid or 0


def _live(transaction: Transaction, chat: int) -> list[tuple[int, HistoryMessage]]:
    find = "SELECT n, id, role FROM message WHERE chat = ? AND superseded = 0 ORDER BY n"
    rows = transaction.connection.execute(find, (chat,)).fetchall()
    return [(n, HistoryMessage(id=id_, role=role)) for n, id_, role in rows]


def _supersede(transaction: Transaction, messages: list[int]) -> None:
    rows = [(n,) for n in messages]
    mark_run = "UPDATE run SET superseded = 1 WHERE n = (SELECT run FROM message WHERE n = ?)"
    transaction.connection.executemany(mark_run, rows)
    transaction.connection.executemany("UPDATE message SET superseded = 1 WHERE n = ?", rows)


def _reason(transaction: Transaction, removed: list[int]) -> DoneReason | None:
    """How the first of these answers ended."""
    find = "SELECT reason FROM run WHERE n = (SELECT run FROM message WHERE n = ?)"
    row = transaction.connection.execute(find, (removed[0] if removed else None,)).fetchone()
    return row[0] if row else None


def _add_run(
    transaction: Transaction,
    chat: int,
    agent: tuple[str, str],
    why: tuple[TurnKind, str | None],
    lease: Lease,
) -> tuple[int, Run]:
    connection, now = transaction.connection, transaction.now
    row = (new_run_id(now), chat, *agent, lease.owner, lease.until, now, *why)
    ((n,),) = connection.execute(_ADD_RUN, row).fetchall()
    return n, run_of(connection.execute(f"{RUN} WHERE run.n = ?", (n,)).fetchone())


def _add_messages(
    transaction: Transaction,
    place: tuple[int, int | None],
    added: UserMessage | None,
    n: int,
    run: Run,
) -> None:
    """Add the user's message, if there is one, and the answer, after the chat's `parent`."""
    connection, now, (chat, parent) = transaction.connection, transaction.now, place
    if added is not None:
        body = encode_json(added).decode()
        row = (chat, parent, added.id, "user", None, now, added.text, body)
        ((parent,),) = connection.execute(_ADD_MESSAGE, row).fetchall()
    answer = (chat, parent, run.id, "assistant", n, now, "", None)
    connection.execute(_ADD_MESSAGE, answer).fetchall()


# Leases


def take_over(transaction: Transaction, run_id: RunId, epoch: int) -> Run:
    n, before = _written_run(transaction.connection, run_id, epoch)
    run = taken_over(before, epoch, transaction.lease, transaction.now)
    save_run(transaction.connection, n, run)
    return run


def hand_over(transaction: Transaction, run_id: RunId, epoch: int) -> None:
    n, before = _written_run(transaction.connection, run_id, epoch)
    save_run(transaction.connection, n, handed_over(before, epoch))


def queue(transaction: Transaction, run_id: RunId, epoch: int) -> None:
    n, before = _written_run(transaction.connection, run_id, epoch)
    save_run(transaction.connection, n, queued(before, epoch, transaction.queue.until))


def requeue(transaction: Transaction, run_id: RunId, epoch: int) -> None:
    n, before = _written_run(transaction.connection, run_id, epoch)
    run = requeued(before, epoch, transaction.queue.until, transaction.now)
    save_run(transaction.connection, n, run)


_QUEUED = f"""
{RUN} WHERE run.status = 'running' AND run.lease_owner IS NULL AND run.lease_until > ?
    AND run.agent IN (SELECT value FROM json_each(?))
    AND chat.owner NOT IN (SELECT value FROM json_each(?))
ORDER BY run.lease_until, run.n LIMIT ?
"""


def claim(
    transaction: Transaction, agents: Collection[str], limit: int, sparing: Collection[str]
) -> list[Run]:
    connection, now = transaction.connection, transaction.now
    values = (now, json.dumps([*agents]), json.dumps([*sparing]), limit)
    rows = connection.execute(_QUEUED, values).fetchall()
    mine = [(row[0], claimed(run_of(row), transaction.lease, now)) for row in rows]
    for n, run in mine:
        save_run(connection, n, run)
    return [run for _, run in mine]


def _written_run(connection: Connection, run_id: RunId, epoch: int) -> tuple[int, Run]:
    try:
        n, _, run = find_run(connection, run_id)
    except RunNotFound as error:
        raise Fenced(run_id, epoch) from error
    return n, run


def request_stop(transaction: Transaction, owner: str, run_id: str) -> Run:
    n, run = owned_run(transaction.connection, owner, run_id)
    stopping = stop_requested(run, transaction.now)
    if stopping is not run:
        save_run(transaction.connection, n, stopping)
    return stopping


# Readers

_SET_READER = """
INSERT INTO reader (run, process, state) SELECT n, ?, ? FROM run WHERE id = ?
ON CONFLICT DO UPDATE SET state = excluded.state
"""
_REMOVE_READER = "DELETE FROM reader WHERE process = ? AND run = (SELECT n FROM run WHERE id = ?)"
_READERS = "SELECT DISTINCT state FROM reader WHERE run = (SELECT n FROM run WHERE id = ?)"


def set_reader(transaction: Transaction, run_id: RunId, state: ReaderState | None) -> None:
    process, connection = transaction.lease.owner, transaction.connection
    if state is None:
        connection.execute(_REMOVE_READER, (process, run_id))
    else:
        connection.execute(_SET_READER, (process, state, run_id))


def readers(connection: Connection, run_id: RunId) -> set[ReaderState]:
    return {state for (state,) in connection.execute(_READERS, (run_id,))}


def expire_process(transaction: Transaction, process: str) -> None:
    """A process has died: its leases expire, and it has no readers."""
    expire = "UPDATE run SET lease_until = 0 WHERE lease_owner = ? AND status = 'running'"
    transaction.connection.execute(expire, (process,))
    transaction.connection.execute("DELETE FROM reader WHERE process = ?", (process,))


# Chats


def rename_chat(transaction: Transaction, owner: str, chat_id: str, title: str) -> Chat:
    n, chat = find_chat(transaction.connection, owner, chat_id)
    change = "UPDATE chat SET title = ?, weak_title = 0 WHERE n = ?"
    transaction.connection.execute(change, (title, n))
    return replace(chat, title=title)


def pin_chat(transaction: Transaction, owner: str, chat_id: str, is_pinned: bool) -> Chat:
    n, chat = find_chat(transaction.connection, owner, chat_id)
    pinned_at = (chat.pinned_at or transaction.now) if is_pinned else None
    transaction.connection.execute("UPDATE chat SET pinned_at = ? WHERE n = ?", (pinned_at, n))
    return replace(chat, pinned_at=pinned_at)


def delete_chat(transaction: Transaction, owner: str, chat_id: str) -> list[RunId]:
    """Delete a chat; return its runs."""
    connection = transaction.connection
    n, _ = find_chat(connection, owner, chat_id)
    runs = connection.execute("SELECT id FROM run WHERE chat = ?", (n,)).fetchall()
    left = [(run_id, owner, transaction.now) for (run_id,) in runs]
    note = "INSERT INTO deleted_run (id, owner, deleted_at) VALUES (?, ?, ?)"
    connection.executemany(note, left)
    connection.execute("DELETE FROM chat WHERE n = ?", (n,))
    return [RunId(run_id) for (run_id,) in runs]
