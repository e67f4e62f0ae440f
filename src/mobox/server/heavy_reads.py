"""Reads of whole chats: a few at once, for each owner and in all, as each takes memory and time.

Rule 1: others wait, and above a limit they are refused: 429 `too_many_reads`.
Rule 2: what is read is formatted and encoded in a thread, so that other requests go on.
Rule 3: a large response counts until it is sent: only its owner waits for a slow client.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mobox.errors import TooManyReads

T = TypeVar("T")

AT_ONCE: Final = 2
"""Reads of one owner."""
MOST: Final = 32
"""Reads of one owner, with those that wait."""
IN_ALL: Final = 4
LARGE: Final = 1 << 20
"""Bytes of a response that counts until it is sent."""


class HeavyReads:
    """The reads of one process."""

    def __init__(self) -> None:
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._all = asyncio.Semaphore(IN_ALL)
        self._reads: Counter[str] = Counter()

    async def response(
        self, owner: str, read: Callable[[], Awaitable[T]], view: Callable[[T], object]
    ) -> Response:
        """The JSON of the view of what was read; raises `TooManyReads`."""
        if self._reads[owner] >= MOST:
            raise TooManyReads(MOST)
        with ExitStack() as slot:
            self._reads[owner] += 1
            slot.callback(self._leave, owner)
            slots = self._slots.setdefault(owner, asyncio.Semaphore(AT_ONCE))
            await slots.acquire()
            slot.callback(slots.release)
            async with self._all:
                found = await read()
                body = await asyncio.to_thread(lambda: msgspec.json.encode(view(found)))
            if len(body) < LARGE:
                return Response(body, media_type="application/json")
            return _LargeResponse(body, slot.pop_all())

    def _leave(self, owner: str) -> None:
        self._reads[owner] -= 1
        if not self._reads[owner]:
            del self._reads[owner]


class _LargeResponse(Response):
    """Frees its slot when it is sent."""

    def __init__(self, body: bytes, slot: ExitStack) -> None:
        super().__init__(body, media_type="application/json")
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            await super().__call__(scope, receive, send)
