"""The interface of an execution of one attempt: by a process, a function, another machine."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol, Self

from msgspec import Struct

from mobox.events import Error
from mobox.events.turn import Answer, Frontend

STDERR_TAIL: Final = 64 * 1024
"""Bytes of an attempt's stderr that are kept, the last ones."""


class Outcome(Struct, frozen=True, kw_only=True):
    """How an execution ended."""

    exit_code: int | None = None
    signal: str | None = None
    """The name of the signal that ended it, such as SIGKILL."""
    stderr_tail: str = ""
    stopped: bool = False
    """Whether it was stopped on request."""
    raised: Error | None = None
    """The exception of a function, which has no exit code; its traceback is not shown to users."""

    def failure(self) -> Error | None:
        """The error to log for an abnormal end: the exit code is not 0, or there is none."""
        if self.exit_code == 0:
            return None
        if self.raised is not None:
            return self.raised
        return Error(
            message=f"The agent {self._how()}.",
            code="agent_exit",
            exit_code=self.exit_code,
            signal=self.signal,
            stderr_tail=self.shown_tail,
        )

    @property
    def shown_tail(self) -> str | None:
        """The stderr that users may see; none of a function."""
        return self.stderr_tail or None if self.raised is None else None

    def _how(self) -> str:
        if self.signal is not None:
            return f"was ended by {self.signal}"
        return "was lost" if self.exit_code is None else f"exited with code {self.exit_code}"


class Execution(Protocol):
    """A running agent. Leaving its `async with` stops it, if it has not ended by itself."""

    async def read(self) -> bytes:
        """Its next output; empty when it has ended and all is read. May be cancelled."""

    def answer(self, request_id: str, answer: Answer) -> None:
        """Pass the answer to an input request."""

    @property
    def created(self) -> str | None:
        """What was created for it, as a message for users; `None` if it was only started."""

    @property
    def has_started(self) -> bool:
        """Whether it has read its turn, even without output."""

    @property
    def has_all_answers(self) -> bool:
        """Whether it has certainly received all answers, even without output since."""

    @property
    def stderr(self) -> str:
        """The end of what it has written to stderr so far."""

    def set_frontend(self, frontend: Frontend) -> None:
        """Pass the frontend state that came with an answer."""

    async def stop(self) -> Outcome:
        """Stop it, gracefully at first."""

    def kill(self) -> None:
        """Kill it at once."""

    async def outcome(self) -> Outcome:
        """How it ended, once it has."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
