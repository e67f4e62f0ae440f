"""Files: their addresses, names and types, other places for their bytes, and uploads cut short."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import asyncpg
import pytest

from mobox.errors import UnknownFileStore
from mobox.storage import Settings, SqliteStorage, Storage, open_storage
from mobox.storage.files import (
    UNNAMED,
    FileStore,
    StoredFile,
    clean_name,
    file_id_in,
    file_id_of,
)
from mobox.storage.media_types import UNKNOWN, checked_type, media_type_of, served_as
from mobox.storage.sqlite.files import FileDatabase, SqliteBlobs, SqliteFileIndex
from storage.conformance_files import PNG, FilesConformance, add, content, pieces
from support.clocks import Clock
from support.postgres_server import Databases

TESTS = Path(__file__).parent.parent
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF"
WEBM = b"\x1aE\xdf\xa3\x9fB\x86\x81"


class MemoryBlobs:
    """Bytes in memory, as another package may have them in an object store."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        self.stored[key] = b"".join([chunk async for chunk in chunks])

    async def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        yield self.stored[key][start:end]

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.stored.pop(key, None)

    async def close(self) -> None:
        pass


class TestBlobsElsewhere(FilesConformance):
    @pytest.fixture(autouse=True)
    def _elsewhere(self) -> None:
        self.blobs = MemoryBlobs()

    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await SqliteStorage.open(folder / "mobox.db", settings, blobs=self.blobs)

    async def test_only_bytes_of_files_are_left(self, store: Storage) -> None:
        one, two = await add(store, PNG), await add(store, PNG + b"2")
        assert await add(store, PNG) == one
        assert set(self.blobs.stored) == {one.blob, two.blob}
        await store.files.delete("ann", two.id)
        assert set(self.blobs.stored) == {one.blob}


class CancelledIndex(SqliteFileIndex):
    """Its caller is cancelled when a file is committed, and before it knows that."""

    async def finish(self, file: StoredFile, quota: int) -> StoredFile:
        await super().finish(file, quota)
        raise asyncio.CancelledError


async def test_a_file_that_was_committed_keeps_its_bytes(tmp_path: Path) -> None:
    settings = Settings()
    database = FileDatabase(tmp_path / "files.db", settings)
    blobs = SqliteBlobs(database)
    cancelled = FileStore(CancelledIndex(database), blobs, settings, settings.clock)
    store = FileStore(SqliteFileIndex(database), blobs, settings, settings.clock)
    with pytest.raises(asyncio.CancelledError):
        await cancelled.add("ann", pieces(PNG), "image/png")
    file = await store.add("ann", pieces(PNG), "image/png")
    assert b"".join([piece async for piece in store.read(file)]) == PNG
    await store.close()


PLUGIN = """
async def none():
    yield b""

class Shelf:
    def __init__(self, settings):
        self.read = lambda key, start, end: none()
    async def write(self, key, chunks):
        async for chunk in chunks:
            print("shelved", len(chunk))
    async def delete(self, keys): ...
    async def close(self): ...
"""


async def test_another_package_provides_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    info = tmp_path / "shelf-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mobox.files]\nshelf = shelf_of_a_test:Shelf\n")
    (tmp_path / "shelf_of_a_test.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    from mobox import registry

    registry._registered.cache_clear()
    try:
        store = await open_storage("memory:", Settings(files="shelf"))
        await add(store, PNG)
        await store.close()
        with pytest.raises(UnknownFileStore, match="unknown file store 'self'; known: shelf"):
            await open_storage("memory:", Settings(files="self"))
    finally:
        registry._registered.cache_clear()
    assert capsys.readouterr().out == f"shelved {len(PNG)}\n"


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("{id}", True),
        ("/api/files/{id}", True),
        ("/mobox/api/files/{id}?signature=1.2", True),
        ("https://chat.example/api/files/{id}#x", True),
        ("/api/files/{id}/more", False),
        ("https://chat.example/{id}", False),
        ("data:text/plain,{id}", False),
        ("{id}0", False),
    ],
)
def test_an_address_of_a_file_is_recognized(url: str, is_ours: bool) -> None:
    name = file_id_of("ann", "00")
    assert file_id_in(url.format(id=name)) == (name if is_ours else None)


def test_ids_of_two_owners_cannot_be_made_equal() -> None:
    assert file_id_of("a", "b" * 64) != file_id_of("ab", "b" * 63)


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        (None, None),
        ("", None),
        ("photo.png", "photo.png"),
        ("C:\\Users\\ann\\photo.png", "photo.png"),
        ("../../etc/passwd", "passwd"),
        ("a\r\nb\0\u202ec.txt", "abc.txt"),
        ("\n", None),
        ("Zürich.png", "Zürich.png"),
        ("\ud800.png", ".png"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_name_has_no_folders_and_nothing_invisible(name: str | None, clean: str | None) -> None:
    assert clean_name(name) == clean


@pytest.mark.parametrize(
    ("declared", "head", "stored"),
    [
        ("image/png", PNG, "image/png"),
        ("image/jpeg", PNG, "image/png"),
        ("image/*", JPEG, "image/jpeg"),
        ("", PNG, "image/png"),
        ("nonsense", PNG, "image/png"),
        (UNKNOWN, PNG, "image/png"),
        ("IMAGE/PNG; q=1", PNG, "image/png"),
        ("image/png", b"<script>", UNKNOWN),
        ("image/png", b"", UNKNOWN),
        ("application/pdf", b"%PDF-1.7", "application/pdf"),
        ("application/pdf", b"<html>", UNKNOWN),
        ("audio/webm", WEBM, "audio/webm"),
        ("audio/mpeg", WEBM, "video/webm"),
        ("text/html", b"<html>", "text/html"),
        ("image/svg+xml", b"<svg>", "image/svg+xml"),
        ("text/csv", PNG, "text/csv"),
        ("audio/*", b"?", UNKNOWN),
        ("font/*", b"?", UNKNOWN),
    ],
)
def test_a_type_is_checked_by_the_first_bytes(declared: str, head: bytes, stored: str) -> None:
    assert checked_type(declared, head) == stored


def test_types_that_are_none_are_not_kept() -> None:
    assert media_type_of("text/html\r\nx: y") == ""
    assert media_type_of("text/" + "x" * 200) == ""
    assert media_type_of(" Text/HTML ;charset=utf-8") == "text/html"


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html", "text/css", UNKNOWN, ""])
def test_what_may_run_in_a_browser_is_a_download(media_type: str) -> None:
    assert served_as(media_type) == (UNKNOWN, False)


def test_pictures_and_texts_are_shown() -> None:
    assert served_as("image/png") == ("image/png", True)
    assert served_as("text/plain") == ("text/plain; charset=utf-8", True)


# Kill -9 in the middle of an upload


def upload_until_killed(url: str, pieces: int) -> None:
    command = [sys.executable, "-m", "storage.endless_uploader", url]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}/src"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for n, _ in enumerate(process.stdout):
            if n == pieces:
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


async def sweep_a_day_later(url: str) -> None:
    clock = Clock()
    store = await open_storage(url, Settings(clock=clock))
    clock.now = 2**45 + UNNAMED  # later than any clock

    async def has_chat(_owner: str, _chat_id: str) -> bool:
        return True

    await store.files.sweep(has_chat)
    file = await add(store, PNG)
    assert await content(store, file) == PNG
    await store.close()


async def test_an_upload_cut_by_kill_9_is_not_visible_and_swept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/mobox.db"
    upload_until_killed(url, 5)
    with sqlite3.connect(tmp_path / "mobox-files.db") as connection:
        assert connection.execute("SELECT count(*) FROM file").fetchone() == (0,)
        assert connection.execute("SELECT count(*) > 4 FROM file_chunk").fetchone() == (1,)
        await sweep_a_day_later(url)
        assert connection.execute("SELECT count(*) FROM file_chunk").fetchone() == (1,)
    connection.close()


async def test_an_upload_to_postgres_cut_by_kill_9_is_not_visible_and_swept(
    postgres: Databases, tmp_path: Path
) -> None:
    url = await postgres.database(str(tmp_path))
    upload_until_killed(url, 5)
    connection = await asyncpg.connect(url)
    try:
        assert await connection.fetchval("SELECT count(*) FROM mobox.file") == 0
        assert await connection.fetchval("SELECT count(*) FROM mobox.file_chunk") > 4
        await sweep_a_day_later(url)
        assert await connection.fetchval("SELECT count(*) FROM mobox.file_chunk") == 1
    finally:
        await connection.close()
