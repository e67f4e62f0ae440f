"""Reports in STATUS events what the server prepares before an agent emits output.

Rule 1: what a sandbox really creates is reported at once.
Rule 2: that an agent is starting is reported once, if it takes longer than a second, and never
        after the agent has read its turn or emitted something.
Rule 3: a preparation is a STATUS of the kind `preparation`: it is part of no message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self

from mobox.errors import MoboxError
from mobox.events import Status

log = logging.getLogger("mobox.supervisor")

Report = Callable[[Status], Awaitable[object]]


class Starting(Protocol):
    """The progress of an execution's start."""

    @property
    def created(self) -> str | None: ...

    @property
    def has_started(self) -> bool: ...


class Preparation:
    """One starting agent: entered when it is launched, `over` at its first output."""

    def __init__(self, execution: Starting, report: Report, doing: str, after: float) -> None:
        """Reports the message `doing` if the agent has not started `after` so many seconds."""
        self._execution = execution
        self._report = report
        self._doing = doing
        self._after = after
        self._is_over = False
        self._reporting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        if (created := self._execution.created) is not None:
            await self._report(_status(created))
        self._timer = asyncio.get_running_loop().call_later(self._after, self._due)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.over()
        if self._reporting is not None:
            await self._reporting

    def over(self) -> None:
        """The agent emitted something: report nothing more."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self._reporting = asyncio.create_task(self._report_if_starting())

    async def _report_if_starting(self) -> None:
        if self._is_over or self._execution.has_started:
            return
        try:
            await self._report(_status(self._doing))
        except MoboxError as error:  # the attempt gets the same error and handles it
            log.debug("cannot store a preparation status: %s", error)


def _status(message: str) -> Status:
    return Status(message=message, kind="preparation")
