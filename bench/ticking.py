"""Agents that are functions of the server's own process: one speaks fifty times a second.

One says nothing, and one says a few words and ends.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from mobox.capture.catalog import Agent, Catalog
from mobox.capture.execution import Execution, Outcome
from mobox.events.turn import Answer, Frontend, Turn

__all__ = [
    "BRIEF",
    "CATALOG",
    "SILENT",
    "SPACING",
    "TICKING",
    "TickingExecution",
    "launch",
    "stamps",
]

BRIEF, SILENT, TICKING = "brief", "silent", "ticking"
SPACING = 0.02
"""Seconds between two lines."""
NEVER = float("inf")
TIMERS = 0.001
"""The grain of the event loop's timers: a shorter sleep is none, and to ask again is work that no
agent gives a server."""

CATALOG = Catalog(
    Agent(id=name, name=name, folder=Path(), argv=(sys.executable,))
    for name in (BRIEF, SILENT, TICKING)
)

_STAMP = re.compile(rb"@(\d+)@")
_WORDS = 50
_LAST = b'{"type":"done","data":{}}\n'
_LINE = b'{"type":"text","data":{"content":" and on it goes @%d@"}}\n'


class TickingExecution:
    """Writes a line every so often until it is stopped, each with the time when it was due.

    What is not read in time waits, as it does in a pipe, and its stamp does not change: a server
    that is late by a line is late, even if it then asks for the next one.
    """

    def __init__(self, spacing: float) -> None:
        self._spacing = spacing
        self._due = time.monotonic() + spacing
        self._ended = asyncio.Event()

    async def read(self) -> bytes:
        """The lines that are due, as soon as there is one."""
        if (wait := self._due - time.monotonic()) > 0:
            await self._sleep(wait)
        lines = []
        while not self._ended.is_set() and self._due <= time.monotonic():
            lines.append(_LINE % round(self._due * 1e9))
            self._due += self._spacing
        return b"".join(lines)

    async def _sleep(self, seconds: float) -> None:
        if self._spacing == NEVER:
            await self._ended.wait()
        while seconds > 0 and not self._ended.is_set():  # a timer may be early by a millisecond
            await asyncio.sleep(math.ceil(seconds / TIMERS) * TIMERS)
            seconds = self._due - time.monotonic()

    def answer(self, request_id: str, answer: Answer) -> None:
        """It asks nothing."""

    @property
    def stderr_so_far(self) -> str:
        return ""

    def watch_stderr(self, changed: Callable[[], None]) -> None:
        pass

    @property
    def created(self) -> str | None:
        return None

    @property
    def has_started(self) -> bool:
        return True

    @property
    def has_all_answers(self) -> bool:
        """It was told nothing."""
        return True

    @property
    def stderr(self) -> str:
        """It writes none."""
        return ""

    def set_frontend(self, frontend: Frontend) -> None:
        """It has no use for pages."""

    async def stop(self) -> Outcome:
        self.kill()
        return await self.outcome()

    def kill(self) -> None:
        self._ended.set()

    async def outcome(self) -> Outcome:
        await self._ended.wait()
        return Outcome(exit_code=0, stopped=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()


class BriefExecution(TickingExecution):
    """Says all it has to say at once."""

    async def read(self) -> bytes:
        if self._ended.is_set():
            return b""
        self.kill()
        return b"".join(_LINE % number for number in range(_WORDS)) + _LAST


def launch(agent: Agent, _state: Path, _turn: Turn) -> Execution:
    """What the supervisor starts instead of a process."""
    if agent.id == BRIEF:
        return BriefExecution(NEVER)
    return TickingExecution(NEVER if agent.id == SILENT else SPACING)


def stamps(received: bytes | memoryview) -> list[float]:
    """When the lines were due that are told here, on the clock that `time.monotonic` reads."""
    return [int(stamp) * 1e-9 for stamp in _STAMP.findall(received)]
