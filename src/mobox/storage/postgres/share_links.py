"""The links of chats."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mobox.errors import LinkNotFound, RunNotFound
from mobox.storage.postgres.database import Connection, Transaction
from mobox.storage.postgres.reads import find_chat
from mobox.storage.share_links import OpenedLink, ShareLink
from mobox.storage.tables import LINK, LINK_COLUMNS, OPENED_LINK, link_of, opened_link_of

_ADD: Final = f"""
INSERT INTO share_link (chat, {", ".join(LINK_COLUMNS)}) VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_REVOKE: Final = "DELETE FROM share_link WHERE chat = $1 AND id = $2 RETURNING n"


async def add_link(transaction: Transaction, owner: str, chat_id: str, link: ShareLink) -> None:
    connection = transaction.connection
    # The chat stays until the link is stored, and then takes the link with it.
    chat, _ = await find_chat(connection, owner, chat_id, "FOR SHARE")
    if link.run_id is not None:
        find = "SELECT 1 FROM run WHERE chat = $1 AND id = $2"
        if await connection.fetchval(find, chat, link.run_id) is None:
            raise RunNotFound(link.run_id)
    await connection.execute(_ADD, chat, *(getattr(link, name) for name in LINK_COLUMNS))


async def links_of_chat(connection: Connection, owner: str, chat_id: str) -> list[ShareLink]:
    chat, _ = await find_chat(connection, owner, chat_id)
    return [
        link_of(row) for row in await connection.fetch(f"{LINK} WHERE chat = $1 ORDER BY n", chat)
    ]


async def revoke_link(transaction: Transaction, owner: str, chat_id: str, link_id: str) -> None:
    chat, _ = await find_chat(transaction.connection, owner, chat_id)
    if await transaction.connection.fetchval(_REVOKE, chat, link_id) is None:
        raise LinkNotFound(link_id)


async def find_link(connection: Connection, digest: str) -> OpenedLink | None:
    row = await connection.fetchrow(f"{OPENED_LINK} WHERE digest = $1", digest)
    return None if row is None else opened_link_of(row)


async def links_of(connection: Connection, link_ids: Collection[str]) -> list[OpenedLink]:
    rows = await connection.fetch(f"{OPENED_LINK} WHERE share_link.id = ANY($1)", list(link_ids))
    return [opened_link_of(row) for row in rows]
