"""Backoff between retries while the database is unreachable, and since when it is reachable."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

_MOST_AGAIN: Final = 20
"""How many conflicts with other transactions in a row are retried."""

_FIRST: Final = 0.02
_LONGEST: Final = 0.5


class Backoff:
    """Exponential backoff with jitter."""

    def __init__(self) -> None:
        self._seconds = _FIRST
        self._conflicts = 0

    def bear(self, *, is_away: bool) -> bool:
        """Whether to retry, after an outage or a conflict with another transaction.

        An outage resets the count: it may last, and then all processes come back at once.
        """
        self._conflicts = 0 if is_away else self._conflicts + 1
        return self._conflicts <= _MOST_AGAIN

    async def next(self) -> None:
        """Wait before the next try."""
        await asyncio.sleep(self._seconds * random.uniform(0.5, 1))
        self._seconds = min(_LONGEST, self._seconds * 2)


class Steadiness:
    """Since when the database has been reachable, as seen by this process.

    It counts from the start of the process, which may have started in the middle of an outage.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._broken_at = seconds()

    def note_trouble(self) -> None:
        """The database was unreachable; a slow expensive query alone does not count."""
        self._broken_at = self._seconds()

    def has_lasted(self, seconds: float) -> bool:
        """Whether the database has been reachable for so long."""
        return self._seconds() - self._broken_at >= seconds
