"""Imports an SDK for a framework's module, in a version that it supports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path

__all__ = ["UnsupportedSdk", "load"]


class UnsupportedSdk(ImportError):
    """The SDK is not installed, or in a version that is not supported."""


def load(package: str, lowest: str, below: str, *modules: str) -> None:
    """Import these modules of a package; raises `UnsupportedSdk`, which names the versions.

    An agent's own file of the same name, such as langchain.py beside run_agent.py, is not imported
    instead of them.
    """
    wanted = f"{package}>={lowest},<{below}"
    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise UnsupportedSdk(f"{package} is not installed; {wanted} is needed") from None
    if not _numbers(lowest) <= _numbers(installed) < _numbers(below):
        raise UnsupportedSdk(f"{package} {installed} is not supported; {wanted} is needed")
    missing = [module for module in modules if module not in sys.modules]
    if missing:
        with _without_own_folder():
            for module in missing:
                import_module(module)


def _numbers(version: str) -> list[int]:
    """The release of a version, such as 1.2 for 1.2rc1, for comparisons."""
    numbers = []
    for part in version.split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return numbers


@contextmanager
def _without_own_folder() -> Iterator[None]:
    """Leave the folder of the script, which Python puts first, out of its path."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    own = {"", str(Path.cwd()), str(Path(script or "").absolute().parent) if script else ""}
    before = sys.path[:]
    sys.path[:] = [each for each in before if each not in own]
    try:
        yield
    finally:
        sys.path[:] = before
