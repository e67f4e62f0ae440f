"""The interface of an execution of one attempt: by a process, a function, another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from msgspec import Struct

from mobox.agent_path.shared.failure_codes import class_code, is_retryable
from mobox.agent_path.shared.redaction import without_secrets
from mobox.events import Error
from mobox.events.printable import on_one_line
from mobox.events.turn import Answer, Frontend
from mobox.sandbox import LimitName

STDERR_TAIL: Final = 64 * 1024
"""Bytes of an attempt's stderr that are kept, the last ones."""


MOST_WORDS: Final = 500
"""Characters of a line of stderr that an error shows."""
MOST_NOTES: Final = 3
"""Lines after an exception that may be notes of it."""
_TRACEBACK: Final = "Traceback (most recent call last):"


class _Excess(NamedTuple):
    code: str
    sentence: str
    shown: Callable[[int], str]


def _size(value: int) -> str:
    return f"{value / (1 << 30):.3g} GiB" if value >= 1 << 30 else f"{value / (1 << 20):.3g} MiB"


_EXCESSES: Final[Mapping[LimitName, _Excess]] = {
    "memory": _Excess("memory_limit", "The agent used more than {} of memory.", _size),
    "disk": _Excess("disk_limit", "The agent stored more than {}, or too many files.", _size),
    "processes": _Excess("process_limit", "The agent started more than {} processes.", str),
}


class Outcome(Struct, frozen=True, kw_only=True):
    """How an execution ended."""

    exit_code: int | None = None
    signal: str | None = None
    """The name of the signal that ended it, such as SIGKILL."""
    stderr_tail: str = ""
    stopped: bool = False
    """Whether it was stopped on request."""
    exceeded: LimitName | None = None
    """The limit for which its sandbox has ended it, and its value."""
    limit: int | None = None
    raised: Error | None = None
    """The exception of a function, which has no exit code; its traceback is not shown to users."""

    def failure(self) -> Error | None:
        """The error to log for an abnormal end: the exit code is not 0, or there is none."""
        if self.exceeded is not None:
            return self._excess(self.exceeded)
        if self.exit_code == 0:
            return None
        if self.raised is not None:
            return self.raised
        why = last_words(self.stderr_tail)
        code = code_in(self.stderr_tail) if self.exit_code == 1 else None
        return Error(
            message=f"The agent {self._how()}: {why}" if why else f"The agent {self._how()}.",
            code=code or "crashed",
            retryable=is_retryable(code),
            exit_code=self.exit_code,
            signal=self.signal,
            stderr_tail=self.shown_tail,
        )

    def _excess(self, name: LimitName) -> Error:
        words = _EXCESSES[name]
        message = words.sentence.format(words.shown(self.limit or 0))
        return Error(
            message=f"{message} (`limits: {name}` in agent.yaml)",
            code=words.code,
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


def last_words(stderr: str) -> str:
    """The last line of stderr, for an error: without secrets, on one line.

    An exception of Python comes first, if other lines follow it: frameworks add notes to theirs.
    """
    lines = _lines(stderr)
    if not lines:
        return ""
    last, raised = lines[-1].strip(), _exception_in(lines)
    words = last if raised is None or raised == last else f"{raised} ({last})"
    return on_one_line(without_secrets(words), MOST_WORDS)


def code_in(stderr: str) -> str | None:
    """The code of the exception at the end of stderr, by its class: `openai.RateLimitError: …`."""
    raised = _exception_in(_lines(stderr)) or ""
    return class_code([raised.partition(":")[0].rpartition(".")[2]])


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _exception_in(lines: list[str]) -> str | None:
    """The line of the exception in the last traceback; its frames are indented."""
    starts = [number for number, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    after = lines[starts[-1] + 1 :] if starts else []
    raised = next((number for number, line in enumerate(after) if not line[0].isspace()), None)
    if raised is None or len(after) - raised > MOST_NOTES + 1:  # it is not what ended the agent
        return None
    return after[raised].strip()


class Execution(Protocol):
    """A running agent. Leaving its `async with` stops it, if it has not ended by itself."""

    async def read(self) -> bytes:
        """Its next output; empty when it has ended and all is read. May be cancelled."""

    def answer(self, request_id: str, answer: Answer) -> None:
        """Pass the answer to an input request."""

    @property
    def stderr_so_far(self) -> str:
        """The end of its stderr, while it is running."""

    def watch_stderr(self, changed: Callable[[], None]) -> None:
        """Call this whenever there is more of its stderr; it must return at once."""

    @property
    def created(self) -> str | None:
        """What was created for it, as a message for users; `None` if it was only started."""

    @property
    def has_started(self) -> bool:
        """Whether it has read its turn, even without output."""

    @property
    def has_all_answers(self) -> bool:
        """Whether it has certainly received all answers, even without output since."""

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
