"""Cursors of lists: numbers that clients return unchanged."""

from __future__ import annotations

import re

from mobox.errors import InvalidCursor

__all__ = ["read_cursor", "write_cursor"]

_CURSOR = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")  # no more than a database's integers hold


def write_cursor(*numbers: int) -> str:
    """The cursor with these numbers."""
    return ".".join(map(str, numbers))


def read_cursor(cursor: str, length: int) -> tuple[int, ...]:
    """The `length` numbers of a cursor."""
    numbers = cursor.split(".")
    if not _CURSOR.fullmatch(cursor) or len(numbers) != length:
        raise InvalidCursor(cursor)
    return tuple(map(int, numbers))
