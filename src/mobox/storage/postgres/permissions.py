"""The permissions of chats. They are added by the statement that appends their answers."""

from __future__ import annotations

from typing import Final

from mobox.errors import PermissionNotFound
from mobox.storage.log import RunId
from mobox.storage.permissions import Permission
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.postgres.reads import find_chat
from mobox.storage.tables import PERMISSION, permission_of

_GRANTED: Final = f"""
{PERMISSION} JOIN run ON run.chat = permission.chat AND run.agent = permission.agent
WHERE run.id = $1 ORDER BY permission.n
"""
_OF_CHAT: Final = f"{PERMISSION} WHERE chat = $1 ORDER BY n"
_REVOKE: Final = "DELETE FROM permission WHERE chat = $1 AND id = $2 RETURNING n"


async def granted(connection: Connection, run_id: RunId) -> list[Permission]:
    return list(map(permission_of, await connection.fetch(_GRANTED, run_id)))


async def permissions_of(connection: Connection, owner: str, chat_id: str) -> list[Permission]:
    chat, _ = await find_chat(connection, owner, chat_id)
    return list(map(permission_of, await connection.fetch(_OF_CHAT, chat)))


async def revoke_permission(
    transaction: Transaction, owner: str, chat_id: str, permission_id: str
) -> None:
    chat, _ = await find_chat(transaction.connection, owner, chat_id)
    if await transaction.connection.fetchval(_REVOKE, chat, permission_id) is None:
        raise PermissionNotFound(permission_id)
