"""Cursors in the documents of a run; opaque to clients, which send them back unchanged.

`7.2` is after the second document of entry 7, `7` after all of that entry, `0` before everything.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mobox.errors import InvalidCursor

__all__ = ["BEGINNING", "Cursor", "format_cursor", "parse_cursor"]

# No more digits than a database's integers hold, and than Python parses.
_PLACE: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?", re.ASCII)


class Cursor(NamedTuple):
    """A position in a run's documents: where a client has stopped to read."""

    seq: int
    documents: int | None = None
    """How many of that entry were read; `None` for all of them."""


BEGINNING: Final = Cursor(0)


def parse_cursor(text: str, tail: int) -> Cursor:
    """Parse a cursor in a log of `tail` entries; raises `InvalidCursor`."""
    found = _PLACE.fullmatch(text)
    if found is None or int(found[1]) > tail:
        raise InvalidCursor(text[:40], tail)
    return Cursor(int(found[1]), None if found[2] is None else int(found[2]))


def format_cursor(seq: int, documents: int) -> bytes:
    """The cursor after a number of documents of an entry."""
    return b"%d.%d" % (seq, documents)
