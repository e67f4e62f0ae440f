"""Runs the events of a framework in the process of an agent, until they end or it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from ..objects import emit_object
from ..output import write_exit

__all__ = ["emit_all"]


def emit_all(events: AsyncGenerator[Any, None]) -> None:
    """Emit all events, as lines. A stop closes the generator and ends the process."""
    asyncio.run(_emit_until_stopped(events))
    write_exit()


async def _emit_until_stopped(events: AsyncGenerator[Any, None]) -> None:
    work = asyncio.ensure_future(_emit(events))
    with suppress(NotImplementedError):  # not on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, work.cancel)
    await asyncio.wait([work])
    if work.cancelled():
        sys.stderr.flush()
        os._exit(130)  # a tool in a thread would keep the process
    work.result()


async def _emit(events: AsyncGenerator[Any, None]) -> None:
    async with aclosing(events):
        async for event in events:
            emit_object(event)
