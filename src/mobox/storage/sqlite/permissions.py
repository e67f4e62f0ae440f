"""The permissions of chats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mobox.errors import PermissionNotFound
from mobox.storage.log import RunId
from mobox.storage.permissions import Permission
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import find_chat
from mobox.storage.tables import PERMISSION, permission_of

_ADD: Final = """
INSERT INTO permission (chat, id, agent, tool, input, digest, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_GRANTED: Final = f"""
{PERMISSION} JOIN run ON run.chat = permission.chat AND run.agent = permission.agent
WHERE run.id = ? ORDER BY permission.n
"""
_OF_CHAT: Final = f"{PERMISSION} WHERE chat = ? ORDER BY n"
_REVOKE: Final = "DELETE FROM permission WHERE chat = ? AND id = ?"


def add_permissions(connection: Connection, chat: int, permissions: Iterable[Permission]) -> None:
    """Store permissions of the chat with this row number, unless it has the like."""
    for each in permissions:
        text = None if each.text is None else each.text.decode()
        values = (chat, each.id, each.agent, each.tool, text, each.digest, each.created_at)
        connection.execute(_ADD, values)


def granted(connection: Connection, run_id: RunId) -> list[Permission]:
    return list(map(permission_of, connection.execute(_GRANTED, (run_id,))))


def permissions_of(connection: Connection, owner: str, chat_id: str) -> list[Permission]:
    chat, _ = find_chat(connection, owner, chat_id)
    return list(map(permission_of, connection.execute(_OF_CHAT, (chat,))))


def revoke_permission(
    transaction: Transaction, owner: str, chat_id: str, permission_id: str
) -> None:
    chat, _ = find_chat(transaction.connection, owner, chat_id)
    if not transaction.connection.execute(_REVOKE, (chat, permission_id)).rowcount:
        raise PermissionNotFound(permission_id)
