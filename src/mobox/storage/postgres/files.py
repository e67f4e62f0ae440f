"""Files in PostgreSQL, where every process has them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from functools import partial
from typing import Any, Final

from mobox.errors import FileNotFound, FileQuotaExceeded, StorageError
from mobox.storage.files import CHUNK, FileReference, StoredFile
from mobox.storage.postgres.database import Connection, storable
from mobox.storage.postgres.sessions import Sessions
from mobox.storage.tables import ADD_FILE_COLUMNS, FILE, file_of, file_values

_LOCK: Final = 0x66696C65
"""The first half of the key of advisory locks for owners' quotas ("file" in ASCII)."""


class PostgresBlobs:
    """The bytes of files, in rows of a table. They take at most half of the connections."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        add, n = "INSERT INTO file_chunk VALUES ($1, $2, $3)", 0
        async for chunk in chunks:
            write = partial(_execute, sql=add, values=(key, n, chunk))
            await self._sessions.transaction(write, "much")
            n += 1

    async def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        find = "SELECT data FROM file_chunk WHERE blob = $1 AND n = $2"
        for n in range(start // CHUNK, -(-end // CHUNK)):
            read = partial(_value, sql=find, values=(key, n))
            data = await self._sessions.query(read, "much")
            if data is None:
                raise StorageError("a file was deleted while it was read")
            yield data[max(0, start - n * CHUNK) : end - n * CHUNK]

    async def delete(self, keys: Sequence[str]) -> None:
        delete = "DELETE FROM file_chunk WHERE blob = ANY($1)"
        await self._sessions.transaction(partial(_execute, sql=delete, values=([*keys],)), "much")

    async def close(self) -> None:
        """The connections are the store's."""


class PostgresFileIndex:
    """Which files there are, and which chats name them.

    A transaction that deletes or names a file locks its row first, and then reads references.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def open(self) -> None:
        """The store has migrated all tables."""

    async def close(self) -> None:
        """The connections are the store's."""

    async def begin(self, blob: str, now: int) -> None:
        await self._change("INSERT INTO loose_blob VALUES ($1, $2)", blob, now)

    async def finish(self, file: StoredFile, quota: int) -> StoredFile:
        return await self._sessions.transaction(partial(_finish, file=file, quota=quota))

    async def find(self, file_id: str) -> StoredFile | None:
        return await self._sessions.query(partial(_find, file_id=storable(file_id)))

    async def name(self, reference: FileReference, ids: Collection[str], now: int) -> None:
        name = partial(_name, chat=_storable(reference), ids=sorted(ids), now=now)
        await self._sessions.transaction(name)

    async def unsettle(self, reference: FileReference) -> int:
        count = "SELECT count(*) FROM file_reference WHERE owner = $1 AND chat = $2"
        chat = _storable(reference)
        found: int = await self._sessions.query(partial(_value, sql=count, values=chat))
        if found:
            change = "UPDATE file_reference SET settled = FALSE WHERE owner = $1 AND chat = $2"
            await self._change(change, *chat)
        return found

    async def release(self, reference: FileReference, before: int) -> list[str]:
        release = partial(_release, chat=_storable(reference), before=before)
        return await self._sessions.transaction(release)

    async def settle(self, reference: FileReference, before: int) -> None:
        change = """
        UPDATE file_reference SET settled = TRUE WHERE owner = $1 AND chat = $2 AND named_at < $3
        """
        await self._change(change, *_storable(reference), before)

    async def unsettled(self, before: int, limit: int) -> list[FileReference]:
        find = """
        SELECT owner, chat FROM file_reference WHERE NOT settled AND named_at < $1
        GROUP BY owner, chat ORDER BY min(named_at) LIMIT $2
        """
        return [FileReference(*row) for row in await self._rows(find, before, limit)]

    async def delete(self, file_id: str, before: int) -> list[str]:
        delete = partial(_delete, ids=[storable(file_id)], before=before)
        return await self._sessions.transaction(delete)

    async def unnamed(self, before: int, limit: int) -> list[str]:
        find = "SELECT id FROM file WHERE unnamed_since < $1 ORDER BY unnamed_since LIMIT $2"
        return [row[0] for row in await self._rows(find, before, limit)]

    async def loose(self, before: int, limit: int) -> list[str]:
        find = "SELECT key FROM loose_blob WHERE since < $1 ORDER BY since LIMIT $2"
        return [row[0] for row in await self._rows(find, before, limit)]

    async def forget(self, blobs: Sequence[str]) -> None:
        await self._change("DELETE FROM loose_blob WHERE key = ANY($1)", [*blobs])

    async def secret(self) -> bytes:
        read = partial(_value, sql="SELECT secret FROM file_secret", values=())
        secret: bytes | None = await self._sessions.query(read)
        if secret is None:
            add = "INSERT INTO file_secret VALUES (1, $1) ON CONFLICT DO NOTHING"
            await self._change(add, secrets.token_bytes(32))
            secret = await self._sessions.query(read)
            assert secret is not None
        return secret

    async def _change(self, sql: str, *values: object) -> None:
        await self._sessions.transaction(partial(_execute, sql=sql, values=values))

    async def _rows(self, sql: str, *values: object) -> list[Sequence[Any]]:
        return await self._sessions.query(partial(_fetch, sql=sql, values=values))


_ADD: Final = f"""
INSERT INTO file ({ADD_FILE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET unnamed_since =
    CASE WHEN file.unnamed_since IS NULL THEN NULL ELSE excluded.unnamed_since END
"""
_LOCKED: Final = "SELECT id FROM file WHERE id = ANY($1) AND owner = $2 ORDER BY id FOR UPDATE"
_NAME: Final = """
INSERT INTO file_reference SELECT $1, $2, unnest($3::text[]), $4, FALSE
ON CONFLICT (owner, chat, file) DO UPDATE SET named_at = excluded.named_at, settled = FALSE
"""
_RELEASE: Final = """
DELETE FROM file_reference WHERE owner = $1 AND chat = $2 AND named_at < $3 RETURNING file
"""
_DELETE: Final = """
WITH gone AS (
    DELETE FROM file WHERE id = ANY($1) AND coalesce(unnamed_since, 0) < $2
        AND NOT EXISTS (SELECT 1 FROM file_reference WHERE file_reference.file = file.id)
    RETURNING blob
), noted AS (INSERT INTO loose_blob SELECT blob, 0 FROM gone)
SELECT blob FROM gone
"""


def _storable(reference: FileReference) -> tuple[str, str]:
    return storable(reference.owner), storable(reference.chat_id)


async def _execute(connection: Connection, sql: str, values: Sequence[object]) -> None:
    await connection.execute(sql, *values)


async def _fetch(connection: Connection, sql: str, values: Sequence[object]) -> list[Any]:
    return list(await connection.fetch(sql, *values))


async def _value(connection: Connection, sql: str, values: Sequence[object]) -> Any:
    return await connection.fetchval(sql, *values)


async def _find(connection: Connection, file_id: str) -> StoredFile | None:
    row = await connection.fetchrow(f"{FILE} WHERE id = $1", file_id)
    return None if row is None else file_of(row)


async def _finish(connection: Connection, file: StoredFile, quota: int) -> StoredFile:
    # One at a time for each owner: else two uploads could exceed the quota together.
    await connection.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _LOCK, file.owner)
    await connection.fetch(_LOCKED, [file.id], file.owner)  # it may just be deleted
    known = await _find(connection, file.id)
    if known is None:
        total = "SELECT coalesce(sum(size), 0)::bigint FROM file WHERE owner = $1"
        stored: int = await connection.fetchval(total, file.owner)
        if stored + file.size > quota:
            raise FileQuotaExceeded(stored, quota)
        await connection.execute("DELETE FROM loose_blob WHERE key = $1", file.blob)
    await connection.execute(_ADD, *file_values(file))
    return known or file


async def _name(connection: Connection, chat: tuple[str, str], ids: list[str], now: int) -> None:
    found = {row[0] for row in await connection.fetch(_LOCKED, ids, chat[0])}
    for missing in (file_id for file_id in ids if file_id not in found):
        raise FileNotFound(missing)
    await connection.execute("UPDATE file SET unnamed_since = NULL WHERE id = ANY($1)", ids)
    await connection.execute(_NAME, *chat, ids, now)


async def _release(connection: Connection, chat: tuple[str, str], before: int) -> list[str]:
    ids = [row[0] for row in await connection.fetch(_RELEASE, *chat, before)]
    return await _delete(connection, ids, before)


async def _delete(connection: Connection, ids: list[str], before: int) -> list[str]:
    lock = "SELECT id FROM file WHERE id = ANY($1) ORDER BY id FOR UPDATE"
    await connection.fetch(lock, ids)
    return [row[0] for row in await connection.fetch(_DELETE, ids, before)]
