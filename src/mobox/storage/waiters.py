"""Waiters for a change; each checks by itself whether it was the awaited one."""

from __future__ import annotations

import asyncio

__all__ = ["Waiters"]


class Waiters:
    """A base class for what changes. All of it belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def is_waited_for(self) -> bool:
        return bool(self._waiters)

    async def change(self) -> None:
        """Wait for the next change."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
