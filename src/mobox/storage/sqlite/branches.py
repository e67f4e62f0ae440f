"""The branches of chats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from mobox.errors import BranchActive
from mobox.storage.branches import NODES, Branches, MessageNode, MessageTree
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import active_runs, find_chat

_LEAVE: Final = "UPDATE message SET superseded = 1 WHERE chat = ? AND superseded = 0"
_ENTER: Final = "UPDATE message SET superseded = 0 WHERE n IN (SELECT value FROM json_each(?))"
_RUNS: Final = """
UPDATE run SET superseded = message.superseded FROM message
WHERE run.chat = ? AND message.run = run.n AND run.superseded != message.superseded
"""


def branches_of(connection: Connection, owner: str, chat_id: str) -> Branches:
    chat, _ = find_chat(connection, owner, chat_id)
    return _tree(connection, chat).branches()


def choose_branch(transaction: Transaction, owner: str, chat_id: str, run_id: str) -> Branches:
    connection = transaction.connection
    chat, _ = find_chat(connection, owner, chat_id)
    tree = _tree(connection, chat)
    path = tree.path_through(run_id)
    if sorted(path) == tree.chosen:
        return tree.branches()
    for active in active_runs(connection, [chat]):
        raise BranchActive(active.id)
    _choose(connection, chat, path)
    return _tree(connection, chat).branches()


def _choose(connection: Connection, chat: int, path: Sequence[int]) -> None:
    """First leave the old branch: ids of messages are unique in the chosen one only."""
    connection.execute(_LEAVE, (chat,))
    connection.execute(_ENTER, (json.dumps(path),))
    connection.execute(_RUNS, (chat,))


def _tree(connection: Connection, chat: int) -> MessageTree:
    rows = connection.execute(f"{NODES} WHERE message.chat = ?", (chat,))
    return MessageTree(MessageNode(*row) for row in rows)
