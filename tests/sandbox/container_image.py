"""A small image for tests, made from this machine's own files: no registry is needed."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

__all__ = ["IMAGE", "import_image"]

IMAGE = "localhost/mobox-test:latest"
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
FOLDERS = ("dev", "etc", "proc", "root", "run", "sys", "tmp", "usr/bin", "usr/lib", "usr/lib64")


def import_image(engine: list[str]) -> str:
    """Make the image; returns why that failed, else nothing.

    It has the C library and the libraries of this Python, as a public image would; Python itself is
    mounted into it.
    """
    done = subprocess.run(
        [*engine, "import", "-", IMAGE], input=_archive(), capture_output=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr.decode().strip()


def _archive() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o700 if name == "root" else 0o755
            archive.addfile(entry)
        for name, link in LINKS.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, link
            archive.addfile(entry)
        for library in _libraries():
            inside = library if library.startswith("/usr/") else f"/usr{library}"
            archive.add(Path(library).resolve(), inside.lstrip("/"))
    return target.getvalue()


def _libraries() -> list[str]:
    """The libraries of the system that Python and its modules need."""
    modules = (Path(os.__file__).parent / "lib-dynload").glob("*.so")
    python = Path(sys.executable).resolve()
    listed = subprocess.run(["ldd", python, *modules], capture_output=True, text=True, check=False)
    return sorted(set(re.findall(r"(?<=\s)/(?:usr/)?lib(?:64)?/\S+", listed.stdout)))
