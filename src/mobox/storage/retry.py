"""Retries: the delays between them, and operations that survive an outage of the database."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from mobox.errors import StorageUnavailable

P = ParamSpec("P")
T = TypeVar("T")


class Backoff:
    """Exponential backoff: each delay is twice the one before, up to the longest.

    A part of every delay, the jitter, is random: processes that failed together do not retry
    together.
    """

    def __init__(self, first: float, longest: float, *, jitter: float = 0.5) -> None:
        self._first = self._seconds = first
        self._longest = longest
        self._jitter = jitter

    def delay(self) -> float:
        """How many seconds to wait before the next retry."""
        seconds = self._seconds
        self._seconds = min(self._longest, 2 * seconds)
        return seconds * random.uniform(1 - self._jitter, 1)

    async def wait(self) -> None:
        await asyncio.sleep(self.delay())

    def reset(self) -> None:
        """Start again with the first delay, after a success."""
        self._seconds = self._first


async def retry_while_unavailable(
    operation: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The operation's result; retries while it raises `StorageUnavailable`."""
    backoff: Backoff | None = None  # made when needed: every delta that is followed passes here
    while True:
        try:
            return await operation(*args, **kwargs)
        except StorageUnavailable:
            backoff = backoff or Backoff(0.05, 0.5)
            await backoff.wait()
