"""Waiting for what wakes nobody: a state outside of this process, or one that nobody tells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from server.live_server import LIMIT

T = TypeVar("T")


def run(work: Awaitable[T], seconds: float = LIMIT) -> T:
    """What comes of it, unless it hangs."""

    async def limited() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(limited())


async def until(happened: Callable[[], object], seconds: float = LIMIT) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def until_it_says_so(
    asks: Callable[[], Awaitable[object]], seconds: float = LIMIT, pause: float = 0.01
) -> None:
    """The same where to ask takes a while."""
    deadline = time.monotonic() + seconds
    while not await asks():
        assert time.monotonic() < deadline
        await asyncio.sleep(pause)


def wait_until(happened: Callable[[], object]) -> None:
    """The same where there is no event loop."""
    deadline = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)
