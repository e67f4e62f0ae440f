"""Files of a framework's module in the chat's state folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["INTERNAL", "folder_of", "write"]

INTERNAL = frozenset({"adk", "claude", "langgraph.sqlite", "openai-agents", "smolagents"})
"""What the modules of frameworks keep in a state folder: memory, nothing that an agent made."""


def folder_of(turn: Any, name: str) -> Path | None:
    """The folder of this name in the chat's state folder; none for an agent run by hand."""
    given = getattr(turn, "folder", None) or os.environ.get("MOBOX_STATE")
    return Path(given) / name if given else None


def write(file: Path, text: str, *, sync: bool = True) -> None:
    """Write a whole file, of which a process that is killed leaves nothing or all.

    `sync`: so does a machine that fails.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.new")
    with open(temporary, "w", encoding="utf-8", opener=_private) as written:
        written.write(text)
        if sync:
            written.flush()
            os.fsync(written.fileno())
    temporary.replace(file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
