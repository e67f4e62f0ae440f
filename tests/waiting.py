"""Waiting for what wakes nobody: a state outside of this process, or one that nobody tells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from server.live_server import LIMIT


async def until(happened: Callable[[], object], seconds: float = LIMIT) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def wait_until(happened: Callable[[], object]) -> None:
    """The same where there is no event loop."""
    deadline = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)
