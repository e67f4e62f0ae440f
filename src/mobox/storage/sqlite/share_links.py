"""The links of chats."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from mobox.errors import LinkNotFound, RunNotFound
from mobox.storage.share_links import OpenedLink, ShareLink
from mobox.storage.sqlite.database import Connection, Transaction
from mobox.storage.sqlite.reads import find_chat
from mobox.storage.tables import LINK, LINK_COLUMNS, OPENED_LINK, link_of, opened_link_of

_ADD: Final = f"""
INSERT INTO share_link (chat, {", ".join(LINK_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_REVOKE: Final = "DELETE FROM share_link WHERE chat = ? AND id = ?"


def add_link(transaction: Transaction, owner: str, chat_id: str, link: ShareLink) -> None:
    connection = transaction.connection
    chat, _ = find_chat(connection, owner, chat_id)
    if link.run_id is not None:
        find = "SELECT 1 FROM run WHERE chat = ? AND id = ?"
        if connection.execute(find, (chat, link.run_id)).fetchone() is None:
            raise RunNotFound(link.run_id)
    connection.execute(_ADD, (chat, *(getattr(link, name) for name in LINK_COLUMNS)))


def links_of_chat(connection: Connection, owner: str, chat_id: str) -> list[ShareLink]:
    chat, _ = find_chat(connection, owner, chat_id)
    return [
        link_of(row) for row in connection.execute(f"{LINK} WHERE chat = ? ORDER BY n", (chat,))
    ]


def revoke_link(transaction: Transaction, owner: str, chat_id: str, link_id: str) -> None:
    chat, _ = find_chat(transaction.connection, owner, chat_id)
    if not transaction.connection.execute(_REVOKE, (chat, link_id)).rowcount:
        raise LinkNotFound(link_id)


def find_link(connection: Connection, digest: str) -> OpenedLink | None:
    row = connection.execute(f"{OPENED_LINK} WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else opened_link_of(row)


def links_of(connection: Connection, link_ids: Collection[str]) -> list[OpenedLink]:
    some = f"{OPENED_LINK} WHERE share_link.id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(some, (json.dumps(list(link_ids)),))
    return [opened_link_of(row) for row in rows]
