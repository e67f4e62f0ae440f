"""How a database that goes away is borne: for how long to leave it alone, and what it excuses."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

__all__ = ["Steadiness", "Waits"]

_MOST_AGAIN: Final = 20
"""How often others can be in the way before it must be something else."""

_FIRST: Final = 0.02
_LONGEST: Final = 0.5


class Waits:
    """Longer and longer ones, and never those of all processes at once."""

    def __init__(self) -> None:
        self._seconds = _FIRST
        self._in_the_way = 0

    def bear(self, *, is_away: bool) -> bool:
        """Whether to try again, because the database was away or somebody else in the way.

        It may be away for as long as it likes, and then all come back at once.
        """
        self._in_the_way = 0 if is_away else self._in_the_way + 1
        return self._in_the_way <= _MOST_AGAIN

    async def next(self) -> None:
        """Leave the database alone for a while."""
        await asyncio.sleep(self._seconds * random.uniform(0.5, 1))
        self._seconds = min(_LONGEST, self._seconds * 2)


class Steadiness:
    """Since when the database has been there, as far as this process has noticed.

    One that has just begun has noticed nothing yet: it may have begun in the middle of an outage.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._broken_at = seconds()

    def note_trouble(self) -> None:
        """It was away; that somebody asked for much and waited long does not tell so."""
        self._broken_at = self._seconds()

    def has_lasted(self, seconds: float) -> bool:
        """Whether there was no trouble for so long."""
        return self._seconds() - self._broken_at >= seconds
