"""Packages that tests install: real wheels of a few lines, in a folder that is uv's index."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest


def make_wheel(folder: Path, name: str, version: str = "1.0", *requires: str) -> str:
    """A wheel with one module that knows its version; returns its sha256."""
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{about}/METADATA": metadata + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{about}/RECORD"))
    file = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for path, text in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(path, text)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def make_source(folder: Path, name: str, version: str = "1.0") -> None:
    """A package that has to be built: there is no wheel of it."""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    project = f'[project]\nname = "{name}"\nversion = "{version}"\n'
    with tarfile.open(folder / f"{name}-{version}.tar.gz", "w:gz") as archive:
        for path, text in {"PKG-INFO": metadata, "pyproject.toml": project}.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def only_index(folder: Path) -> dict[str, str]:
    """The variables with which uv finds packages in this folder only."""
    folder.mkdir(exist_ok=True)
    return {
        "UV_FIND_LINKS": str(folder),
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(folder.parent / "uv-cache"),
    }


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only packages there are: `tiny` in two versions, `big`, which needs it, and `raw`."""
    folder = tmp_path / "index"
    for name, value in only_index(folder).items():
        monkeypatch.setenv(name, value)
    make_wheel(folder, "tiny", "1.0")
    make_wheel(folder, "tiny", "2.0")
    make_wheel(folder, "big", "1.0", "tiny")
    make_source(folder, "raw")
    return folder
