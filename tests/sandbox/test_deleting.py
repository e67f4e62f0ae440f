"""Folders that agents leave are deleted, however they have made them."""

from __future__ import annotations

import os
from pathlib import Path

from mobox.sandbox.deleting import delete
from mobox.sandbox.measuring import deleted, usage

MEGABYTE = 1 << 20


def nest(folder: Path, levels: int) -> None:
    """Make folders in folders, by descriptors: the path is too long."""
    number = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=number)
        inner = os.open("d", os.O_RDONLY, dir_fd=number)
        os.close(number)
        number = inner
    os.close(number)


def test_deeply_nested_folders_are_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    nest(folder, 2500)
    delete(str(folder))
    assert not folder.exists()


def test_folders_without_rights_are_deleted(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "inner" / ".1"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    (tmp_path / "closed" / ".1").mkdir()
    inner.chmod(0)
    inner.parent.chmod(0)
    delete(str(tmp_path / "closed"))
    assert list(tmp_path.iterdir()) == []


def test_targets_of_links_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(kept)
    delete(str(folder))
    (tmp_path / "link").symlink_to(kept)
    delete(str(tmp_path / "link"))
    delete(str(tmp_path / "missing"))
    assert (kept / "file").exists()
    assert not folder.exists()


def test_deeply_nested_folders_exceed_every_limit(tmp_path: Path) -> None:
    nest(tmp_path, 300)
    assert usage([str(tmp_path)], MEGABYTE << 10, 1000)[0] > MEGABYTE << 10
    delete(str(tmp_path / "d"))


def test_links_are_not_measured(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "large").write_bytes(b"x" * MEGABYTE)
    (tmp_path / "state" / "link").symlink_to(tmp_path)
    assert usage([str(tmp_path / "state")], MEGABYTE, 10)[0] < MEGABYTE // 2


def test_deleted_files_count_while_they_are_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = deleted([os.getpid()], [str(tmp_path)])
    with path.open("wb") as file:
        file.write(b"x" * MEGABYTE)
        file.flush()
        path.unlink()
        assert deleted([os.getpid()], [str(tmp_path)]) - before >= MEGABYTE
    assert deleted([os.getpid()], [str(tmp_path)]) == before
