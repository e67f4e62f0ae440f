"""What executes one leg of a run, wherever it does: a process, a function, another machine."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol, Self

from msgspec import Struct

from mobox.events import Error
from mobox.turn import Answer, Frontend

__all__ = ["STDERR_TAIL", "Execution", "Outcome"]

STDERR_TAIL: Final = 64 * 1024
"""Bytes of a leg's stderr that are kept, its last."""


class Outcome(Struct, frozen=True, kw_only=True):
    """How an execution ended."""

    exit_code: int | None = None
    signal: str | None = None
    """The name of what killed it, such as SIGKILL."""
    stderr_tail: str = ""
    stopped: bool = False
    """Somebody asked for it."""
    raised: Error | None = None
    """What a function raised, which has no exit code of its own; its traceback is nobody's who
    only asked it something."""

    def failure(self) -> Error | None:
        """What to log of an end that is none: the exit code is not 0, or there is none."""
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
        """What whoever asked is shown of it."""
        return self.stderr_tail or None if self.raised is None else None

    def _how(self) -> str:
        if self.signal is not None:
            return f"was ended by {self.signal}"
        return "was lost" if self.exit_code is None else f"exited with code {self.exit_code}"


class Execution(Protocol):
    """An agent at work. Leaving its `async with` ends it, if it has not ended by itself."""

    async def read(self) -> bytes:
        """What it wrote next; empty when it has ended and all is read. May be cancelled."""
        ...

    def answer(self, request_id: str, answer: Answer) -> None:
        """Tell it what a person said to a request."""
        ...

    @property
    def created(self) -> str | None:
        """What was created for it, in words for people; nothing where it only had to be started."""
        ...

    @property
    def has_started(self) -> bool:
        """Whether it has taken up its turn, even if it said nothing yet."""
        ...

    @property
    def heard(self) -> bool:
        """Whether it surely has all that it was answered, even if it said nothing since."""
        ...

    def tell(self, frontend: Frontend) -> None:
        """Tell it what the page brought along with an answer."""
        ...

    async def stop(self) -> Outcome:
        """End it, kindly at first."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...

    async def outcome(self) -> Outcome:
        """How it ended, once it has."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
