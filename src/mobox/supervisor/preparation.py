"""Tells people what the server does before an agent works, where there is something to tell.

Rule 1: what a sandbox really creates is told at once.
Rule 2: that an agent is being started is told once, if it takes longer than a second, and never
        after the agent has read its turn or said something.
Rule 3: a preparation is a STATUS of the kind `preparation`: no message keeps it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self

from mobox.errors import MoboxError
from mobox.events import Status

__all__ = ["Preparation"]

log = logging.getLogger("mobox.supervisor")

Tell = Callable[[Status], Awaitable[object]]


class Starting(Protocol):
    """Of an execution, what tells how far its start has come."""

    @property
    def created(self) -> str | None: ...

    @property
    def has_started(self) -> bool: ...


class Preparation:
    """One agent being started: entered when it was launched, `over` when it speaks."""

    def __init__(self, execution: Starting, tell: Tell, doing: str, after: float) -> None:
        """Tells what `doing` says if the agent has not started `after` so many seconds."""
        self._execution = execution
        self._tell = tell
        self._doing = doing
        self._after = after
        self._is_over = False
        self._telling: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        if (created := self._execution.created) is not None:
            await self._tell(_status(created))
        self._timer = asyncio.get_running_loop().call_later(self._after, self._due)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.over()
        if self._telling is not None:
            await self._telling

    def over(self) -> None:
        """The agent has spoken: what was not told by now is not true any more."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self._telling = asyncio.create_task(self._tell_if_it_starts())

    async def _tell_if_it_starts(self) -> None:
        if self._is_over or self._execution.has_started:
            return
        try:
            await self._tell(_status(self._doing))
        except MoboxError as error:  # whoever reads the agent meets the same, and acts on it
            log.debug("cannot store a preparation status: %s", error)


def _status(message: str) -> Status:
    return Status(message=message, kind="preparation")
