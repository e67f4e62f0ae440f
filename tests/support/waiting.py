"""Waits with a time limit: for a test, or for a state that notifies no waiter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from server.live_server import LIMIT

P = ParamSpec("P")
T = TypeVar("T")


def limited(
    work: Callable[P, Awaitable[T]], seconds: float = LIMIT
) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same function, which fails when it has not returned after so many seconds."""

    @wraps(work)
    async def in_time(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await work(*args, **kwargs)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise AssertionError(f"it hangs: not done after {seconds:g} s") from error

    return in_time


async def until(happened: Callable[[], object], seconds: float = LIMIT) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def until_async(
    happened: Callable[[], Awaitable[object]], seconds: float = LIMIT, pause: float = 0.01
) -> None:
    """The same for an async condition."""
    deadline = time.monotonic() + seconds
    while not await happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(pause)


def wait_until(happened: Callable[[], object], seconds: float = LIMIT) -> None:
    """The same where there is no event loop."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)
