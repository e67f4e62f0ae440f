"""Files in a SQLite database of their own, with a thread that writes: uploads do not delay logs."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar

from mobox.errors import FileNotFound, FileQuotaExceeded, StorageError
from mobox.settings import Settings
from mobox.storage.files import CHUNK, FileReference, StoredFile
from mobox.storage.sqlite.database import Connection, Readers, open_database
from mobox.storage.tables import (
    ADD_FILE_COLUMNS,
    FILE,
    Migration,
    Row,
    file_of,
    file_values,
    read_migrations,
)

T = TypeVar("T")

_CHECKPOINT_PAGES: Final = 1000


def file_migrations() -> list[Migration]:
    """All migrations of this version, in order."""
    return read_migrations(files("mobox.storage").joinpath("file_migrations"))


class FileDatabase:
    """The database file: opened on first use, one thread writes, a few read."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._settings = settings
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="mobox-files")
        self._readers = Readers(path, settings)
        self._connection: Connection | None = None
        self._is_open = True

    async def open(self) -> None:
        """Create or migrate it."""
        await self.change(lambda _: None)

    async def read(self, query: Callable[[Connection], T], if_missing: T) -> T:
        """The result of a query; `if_missing` if no file was ever stored: none is created then."""
        if self._connection is None:
            if not self._path.exists():
                return if_missing
            await self.open()
        return await self._readers.snapshot(query)

    async def change(self, work: Callable[[Connection], T]) -> T:
        """The result of work in a transaction of its own, after the commit."""
        if not self._is_open:
            raise StorageError("the store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._transact, work)

    async def close(self) -> None:
        """Wait for what is under way first."""
        if not self._is_open:
            return
        self._is_open = False
        await asyncio.to_thread(self._writer.shutdown)
        await self._readers.close()
        if self._connection is not None:
            self._connection.close()

    def _transact(self, work: Callable[[Connection], T]) -> T:
        connection = self._opened()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StorageError(f"cannot write to {self._path}: {error}") from error
        return result

    def _opened(self) -> Connection:
        if self._connection is None:
            connection = open_database(self._path, self._settings, file_migrations())
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            self._connection = connection
        return self._connection


class SqliteBlobs:
    """The bytes of files, in rows of a table."""

    def __init__(self, database: FileDatabase) -> None:
        self._database = database

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        add, n = "INSERT INTO file_chunk VALUES (?, ?, ?)", 0
        async for chunk in chunks:
            await self._database.change(partial(_execute, sql=add, values=(key, n, chunk)))
            n += 1

    async def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        find = "SELECT data FROM file_chunk WHERE blob = ? AND n = ?"
        for n in range(start // CHUNK, -(-end // CHUNK)):
            data = await self._database.read(partial(_value, sql=find, values=(key, n)), None)
            if data is None:
                raise StorageError("a file was deleted while it was read")
            yield data[max(0, start - n * CHUNK) : end - n * CHUNK]

    async def delete(self, keys: Sequence[str]) -> None:
        delete = "DELETE FROM file_chunk WHERE blob IN (SELECT value FROM json_each(?))"
        await self._database.change(partial(_execute, sql=delete, values=_list(keys)))

    async def close(self) -> None:
        await self._database.close()


class SqliteFileIndex:
    """Which files there are, and which chats name them."""

    def __init__(self, database: FileDatabase) -> None:
        self._database = database

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    async def begin(self, blob: str, now: int) -> None:
        add = "INSERT INTO loose_blob VALUES (?, ?)"
        await self._database.change(partial(_execute, sql=add, values=(blob, now)))

    async def finish(self, file: StoredFile, quota: int) -> StoredFile:
        return await self._database.change(partial(_finish, file=file, quota=quota))

    async def find(self, file_id: str) -> StoredFile | None:
        return await self._database.read(partial(_find, file_id=file_id), None)

    async def name(self, reference: FileReference, ids: Collection[str], now: int) -> None:
        await self._database.change(partial(_name, reference=reference, ids=ids, now=now))

    async def unsettle(self, reference: FileReference) -> int:
        count = "SELECT count(*) FROM file_reference WHERE owner = ? AND chat = ?"
        values = (reference.owner, reference.chat_id)
        found: int = await self._database.read(partial(_value, sql=count, values=values), 0)
        if found:  # most chats have none: the writer is not needed
            change = "UPDATE file_reference SET settled = 0 WHERE owner = ? AND chat = ?"
            await self._database.change(partial(_execute, sql=change, values=values))
        return found

    async def release(self, reference: FileReference, before: int) -> list[str]:
        return await self._database.change(partial(_release, reference=reference, before=before))

    async def settle(self, reference: FileReference, before: int) -> None:
        change = """
        UPDATE file_reference SET settled = 1 WHERE owner = ? AND chat = ? AND named_at < ?
        """
        values = (reference.owner, reference.chat_id, before)
        await self._database.change(partial(_execute, sql=change, values=values))

    async def unsettled(self, before: int, limit: int) -> list[FileReference]:
        find = """
        SELECT owner, chat FROM file_reference WHERE settled = 0 AND named_at < ?
        GROUP BY owner, chat ORDER BY min(named_at) LIMIT ?
        """
        return [FileReference(*row) for row in await self._rows(find, before, limit)]

    async def delete(self, file_id: str, before: int) -> list[str]:
        return await self._database.change(partial(_delete, ids=[file_id], before=before))

    async def unnamed(self, before: int, limit: int) -> list[str]:
        find = "SELECT id FROM file WHERE unnamed_since < ? ORDER BY unnamed_since LIMIT ?"
        return [row[0] for row in await self._rows(find, before, limit)]

    async def loose(self, before: int, limit: int) -> list[str]:
        find = "SELECT key FROM loose_blob WHERE since < ? ORDER BY since LIMIT ?"
        return [row[0] for row in await self._rows(find, before, limit)]

    async def forget(self, blobs: Sequence[str]) -> None:
        delete = "DELETE FROM loose_blob WHERE key IN (SELECT value FROM json_each(?))"
        await self._database.change(partial(_execute, sql=delete, values=_list(blobs)))

    async def secret(self) -> bytes:
        find = partial(_value, sql="SELECT secret FROM file_secret")
        secret: bytes | None = await self._database.read(find, None)
        return await self._database.change(_new_secret) if secret is None else secret

    async def _rows(self, find: str, *values: int) -> list[Row]:
        return await self._database.read(lambda c: c.execute(find, values).fetchall(), [])


_ADD: Final = f"""
INSERT INTO file ({ADD_FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET unnamed_since = CASE WHEN unnamed_since IS NULL THEN NULL ELSE excluded.unnamed_since END
"""
_NAME: Final = """
INSERT INTO file_reference VALUES (?, ?, ?, ?, 0)
ON CONFLICT DO UPDATE SET named_at = excluded.named_at, settled = 0
"""
_RELEASE: Final = """
DELETE FROM file_reference WHERE owner = ? AND chat = ? AND named_at < ? RETURNING file
"""
_DELETE: Final = """
DELETE FROM file WHERE id IN (SELECT value FROM json_each(?))
    AND coalesce(unnamed_since, 0) < ?
    AND NOT EXISTS (SELECT 1 FROM file_reference WHERE file_reference.file = file.id)
RETURNING blob
"""


def _list(values: Sequence[str]) -> tuple[str]:
    return (json.dumps(values),)


def _execute(connection: Connection, sql: str, values: Sequence[Any]) -> None:
    connection.execute(sql, values)


def _value(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    row = connection.execute(sql, values).fetchone()
    return None if row is None else row[0]


def _find(connection: Connection, file_id: str) -> StoredFile | None:
    row = connection.execute(f"{FILE} WHERE id = ?", (file_id,)).fetchone()
    return None if row is None else file_of(row)


def _finish(connection: Connection, file: StoredFile, quota: int) -> StoredFile:
    known = _find(connection, file.id)
    if known is None:
        total = "SELECT coalesce(sum(size), 0) FROM file WHERE owner = ?"
        ((stored,),) = connection.execute(total, (file.owner,)).fetchall()
        if stored + file.size > quota:
            raise FileQuotaExceeded(stored, quota)
        connection.execute("DELETE FROM loose_blob WHERE key = ?", (file.blob,))
    connection.execute(_ADD, file_values(file))
    return known or file


def _name(connection: Connection, reference: FileReference, ids: Collection[str], now: int) -> None:
    for file_id in ids:
        change = "UPDATE file SET unnamed_since = NULL WHERE id = ? AND owner = ?"
        if not connection.execute(change, (file_id, reference.owner)).rowcount:
            raise FileNotFound(file_id)
        connection.execute(_NAME, (reference.owner, reference.chat_id, file_id, now))


def _release(connection: Connection, reference: FileReference, before: int) -> list[str]:
    values = (reference.owner, reference.chat_id, before)
    ids = [file_id for (file_id,) in connection.execute(_RELEASE, values).fetchall()]
    return _delete(connection, ids, before)


def _delete(connection: Connection, ids: Sequence[str], before: int) -> list[str]:
    rows = connection.execute(_DELETE, (*_list(ids), before)).fetchall()
    connection.executemany("INSERT INTO loose_blob VALUES (?, 0)", rows)
    return [blob for (blob,) in rows]


def _new_secret(connection: Connection) -> bytes:
    add = "INSERT INTO file_secret VALUES (1, ?) ON CONFLICT DO NOTHING"
    connection.execute(add, (secrets.token_bytes(32),))
    secret: bytes = _value(connection, "SELECT secret FROM file_secret")
    return secret
