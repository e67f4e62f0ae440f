"""When to look into the store for what other processes wrote: when they tell, and now and then.

Rule 1: one question at a time, for all who wait: a thousand idle readers cost as much as one.
Rule 2: news may be late, doubled or lost: that changes when something is found, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, Literal, NamedTuple

from mobox.storage.log import RunId
from mobox.storage.wake_ups import News, WakeUps

__all__ = ["Elsewhere", "Places"]

_NET: Final = 5
"""Which of the looks is taken even if news gets through."""

_NOTHING: Final = News()


class Places(NamedTuple):
    """Where to look."""

    run_ids: list[RunId]
    chat_ids: list[str]


class Elsewhere:
    """The other processes, as far as one store is concerned."""

    def __init__(
        self,
        poll_seconds: float | None,
        wake_ups: WakeUps | None,
        look: Callable[[Places], Coroutine[Any, Any, None]],
        waited_for: Callable[[], Places],
    ) -> None:
        self._poll_seconds = poll_seconds
        self._wake_ups = wake_ups
        self._look = look
        self._waited_for = waited_for
        self._run_ids: set[RunId] = set()
        self._chat_ids: set[str] = set()
        self._asker: asyncio.Task[None] | None = None
        self._poller: asyncio.Task[None] | None = None

    @property
    def state(self) -> Literal["none", "up", "down"]:
        """See `Storage.wake_ups`."""
        if self._wake_ups is None:
            return "none"
        return "up" if self._wake_ups.is_healthy else "down"

    def tell(self, news: News) -> None:
        """Tell the others, if there is a way to."""
        if self._wake_ups is not None and news != _NOTHING:
            self._wake_ups.tell(news)

    def look_soon(self, run_ids: Iterable[RunId], chat_ids: Iterable[str] = ()) -> None:
        """Something is said to have happened there."""
        self._run_ids.update(run_ids)
        self._chat_ids.update(chat_ids)
        if (self._run_ids or self._chat_ids) and self._asker is None:
            self._asker = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        try:
            while self._run_ids or self._chat_ids:
                places = Places(list(self._run_ids), list(self._chat_ids))
                self._run_ids, self._chat_ids = set(), set()  # what is told meanwhile comes next
                await self._look(places)
        finally:
            self._asker = None

    def start_polling(self) -> None:
        """Somebody waits: look now and then until nobody does."""
        if self._poll_seconds is not None and self._poller is None:
            self._poller = asyncio.create_task(self._poll(self._poll_seconds))

    async def _poll(self, seconds: float) -> None:
        looks = 0
        try:
            while any(self._waited_for()):
                await asyncio.sleep(seconds)
                looks += 1
                if self.state != "up" or looks % _NET == 0:
                    await self._look(self._waited_for())
        finally:
            self._poller = None

    async def stop_looking(self) -> None:
        """The store is about to close."""
        tasks = [task for task in (self._poller, self._asker) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop_telling(self) -> None:
        """Nothing more will be committed."""
        if self._wake_ups is not None:
            await self._wake_ups.close()
