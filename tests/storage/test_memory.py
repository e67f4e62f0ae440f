"""`memory:` does what every store does, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mobox.errors import StorageError
from mobox.storage import Settings, SqliteStorage, Storage, open_storage
from mobox.storage.sqlite import database
from storage.conformance import Conformance, StorageConformance, begin, submit
from storage.conformance_keys import KeysConformance
from storage.conformance_pruning import PruningConformance
from storage.conformance_queue import QueueConformance


class InMemory(Conformance):
    async def open(self, folder: Path, settings: Settings) -> Storage:
        return await open_storage("memory:", settings)


class TestMemoryStorage(InMemory, StorageConformance, PruningConformance):
    pass


class TestMemoryKeys(InMemory, KeysConformance):
    pass


class TestMemoryQueue(InMemory, QueueConformance):
    async def open_again(self, folder: Path) -> None:
        """It is of one process."""


Modes = Callable[[], list[int]]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modes:
    """The modes of all temporary files and folders."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return lambda: [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()]


async def test_two_stores_share_nothing_and_are_deleted_when_they_are_closed(
    temporary: Modes,
) -> None:
    one, other = await open_storage("memory:"), await open_storage("memory:")
    run = await begin(one)
    await begin(other, submit(chat_id="another"))
    assert [chat.id for chat in (await one.chats("ann")).chats] == ["chat"]
    assert [each.id for each in await one.runs("ann", "chat")] == [run.id]
    assert temporary() == [0o700, 0o700]
    await one.close()
    assert temporary() == [0o700]
    await other.close()
    assert temporary() == []


async def test_one_that_cannot_be_opened_leaves_nothing_behind(
    temporary: Modes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_OLDEST_SQLITE", (1000, 0, 0))
    with pytest.raises(StorageError, match=r"SQLite 1000\.0\.0 or newer is required"):
        await SqliteStorage.open_temporary()
    assert temporary() == []


FAILING = """
import asyncio
from mobox.storage import open_storage

async def main():
    store = await open_storage("memory:")
    raise SystemExit(3)

asyncio.run(main())
"""


FORKING = """
import asyncio, atexit, os
from mobox.storage import open_storage

async def main():
    store = await open_storage("memory:")
    if (child := os.fork()) == 0:
        atexit._run_exitfuncs()
        os._exit(0)
    os.waitpid(child, 0)
    print(await store.keys())
    await store.close()

asyncio.run(main())
"""


def test_forked_process_that_exits_does_not_delete_it(temporary: Modes) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b"[]\n"), done.stderr
    assert temporary() == []


async def test_unusable_temporary_folder_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(StorageError, match="cannot create a temporary database"):
        await open_storage("memory:")


def test_one_that_was_never_closed_is_deleted_when_the_process_ends(temporary: Modes) -> None:
    assert subprocess.run([sys.executable, "-c", FAILING], check=False).returncode == 3
    assert temporary() == []
