"""Places in what is told of a run: cursors that clients hand back as they got them.

`7.2` is after the second document of entry 7, `7` after all of that entry, `0` before everything.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mobox.errors import BadCursor

__all__ = ["BEGINNING", "Place", "read_place", "write_place"]

# No more digits than a database's integers hold, and than Python reads without a fuss.
_PLACE: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?", re.ASCII)


class Place(NamedTuple):
    """Where somebody has stopped to read."""

    seq: int
    documents: int | None = None
    """How many of that entry were read; `None` for all of them."""


BEGINNING: Final = Place(0)


def read_place(told: str, tail: int) -> Place:
    """The place that a cursor names in a log of `tail` entries."""
    found = _PLACE.fullmatch(told)
    if found is None or int(found[1]) > tail:
        raise BadCursor(told[:40], tail)
    return Place(int(found[1]), None if found[2] is None else int(found[2]))


def write_place(seq: int, documents: int) -> bytes:
    """The cursor of a place."""
    return b"%d.%d" % (seq, documents)
