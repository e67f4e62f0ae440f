"""The branches of chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mobox.errors import BranchActive
from mobox.storage.branches import NODES, Branches, MessageNode, MessageTree
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.postgres.reads import active_runs, find_chat

_LEAVE: Final = "UPDATE message SET superseded = TRUE WHERE chat = $1 AND NOT superseded"
_ENTER: Final = "UPDATE message SET superseded = FALSE WHERE n = ANY($1)"
_RUNS: Final = """
UPDATE run SET superseded = message.superseded FROM message
WHERE run.chat = $1 AND message.run = run.n AND run.superseded != message.superseded
"""


async def branches_of(connection: Connection, owner: str, chat_id: str) -> Branches:
    chat, _ = await find_chat(connection, owner, chat_id)
    return (await _tree(connection, chat)).branches()


async def choose_branch(
    transaction: Transaction, owner: str, chat_id: str, run_id: str
) -> Branches:
    connection = transaction.connection
    chat, _ = await find_chat(connection, owner, chat_id, "FOR NO KEY UPDATE")
    tree = await _tree(connection, chat)
    path = tree.path_through(run_id)
    if sorted(path) == tree.chosen:
        return tree.branches()
    for active in await active_runs(connection, [chat]):
        raise BranchActive(active.id)
    await _choose(connection, chat, path)
    return (await _tree(connection, chat)).branches()


async def _choose(connection: Connection, chat: int, path: Sequence[int]) -> None:
    """First leave the old branch: ids of messages are unique in the chosen one only."""
    await connection.execute(_LEAVE, chat)
    await connection.execute(_ENTER, list(path))
    await connection.execute(_RUNS, chat)


async def _tree(connection: Connection, chat: int) -> MessageTree:
    rows = await connection.fetch(f"{NODES} WHERE message.chat = $1", chat)
    return MessageTree(MessageNode(*row) for row in rows)
