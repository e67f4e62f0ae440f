"""The memory of a chat with smolagents: the steps of its runs, as files in the state folder.

======================= ========================================================================
`<run>.json`            the steps of a run that have ended, its task first
`<run>.open.json`       its current step: what the model said, and each call with its state
======================= ========================================================================

Rule 1: a turn starts with the steps of the runs in its history, which is one branch of the chat. So
        an edit, a regeneration and a retry need nothing. A run without a file is made of messages.
Rule 2: a call is on the disk before it is made. One without a result may have been made: it is
        never made again by itself.
Rule 3: a step that was open when its run ended is ended here, with a result for every call.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..conversation.said import NO_OUTPUT
from .smolagents_steps import action, dump, load, read_steps
from .state_files import folder_of, write

__all__ = ["LOST", "Call", "Journal", "Memory", "Open", "Run", "ended", "told"]

LOST = "the steps of this run are lost, so that its answers cannot be used; retry it"
NOT_MADE = "Not carried out: the user sent another message instead of a decision about this call."
CODE_ENDED = (
    "The process that ran this code ended before the code did: its variables are lost, and what "
    "comes after the last of these calls did not run."
)
AGENT_ENDED = (
    "The process of this agent ended before it had an answer. Give it the task again if it is "
    "still needed. It had made these calls:"
)
CALLED = "{name}({arguments}): {output}"


@dataclass
class Call:
    """A call in the current step of the root agent, of that agent or of one under it."""

    id: str
    """As in the log."""
    name: str
    arguments: dict[str, Any]
    agents: list[str] = field(default_factory=list)
    """The names of the managed agents, outermost first, of which the last one made the call."""
    scope: list[str] = field(default_factory=list)
    """The calls of these agents."""
    within: str = ""
    """The code that made the call."""
    is_code: bool = False
    """Whether it is the code of a CodeAgent."""
    is_whole: bool = True
    """Whether JSON can hold the arguments."""
    kind: str = ""
    request: str = ""
    """The kind and the id of the request that has to be answered first, if there is one."""
    was_made: bool = True
    output: str | None = None
    """`None` while it has no result."""
    status: str = "ok"

    @property
    def result(self) -> str:
        """What the model is told about it."""
        if self.output is not None:
            return self.output
        return NO_OUTPUT["unknown"] if self.was_made else NOT_MADE


@dataclass
class Open:
    """The current step of the root agent."""

    after: int
    """How many steps the run had before."""
    text: str = ""
    calls: list[Call] = field(default_factory=list)


@dataclass
class Run:
    """A stored run."""

    steps: list[Any]
    open: Open | None


class Memory:
    """The runs of a chat."""

    def __init__(self, sdk: Any, turn: Any) -> None:
        self._sdk, self._turn = sdk, turn
        self._folder = folder_of(turn, "smolagents")

    def before(self) -> list[Any]:
        """The steps of the runs before this one."""
        steps: list[Any] = []
        unanswered: list[dict[str, Any]] = []
        for message in self._turn.history:
            if message["role"] == "assistant" and message["id"] == self._turn.run_id:
                return steps  # its own steps are stored with its task
            unanswered.append(message)
            if message["role"] == "assistant":
                steps += self._steps(message["id"], unanswered)
                unanswered = []
        return steps + read_steps(self._sdk, unanswered, [])

    def _steps(self, run: str, messages: list[dict[str, Any]]) -> list[Any]:
        found = self.read(run)
        if found is None:
            return read_steps(self._sdk, messages, [])
        return [*found.steps, *([] if found.open is None else [ended(self._sdk, found.open)])]

    def read(self, run: str) -> Run | None:
        """A stored run; `None` if there is none, or if its file is damaged."""
        if self._folder is None:
            return None
        try:
            stored = json.loads(self._file(run, "json").read_text("utf-8"))
            steps = load(self._sdk, stored)
        except (OSError, ValueError, LookupError, TypeError):
            return None
        found = self._read_open(run)
        is_current = found is not None and found.after == len(steps)
        return Run(steps, found if is_current else None)

    def _read_open(self, run: str) -> Open | None:
        with suppress(OSError, ValueError, LookupError, TypeError):
            stored = json.loads(self._file(run, "open.json").read_text("utf-8"))
            calls = [Call(**each) for each in stored["calls"]]
            return Open(stored["after"], stored["text"], calls)
        return None

    def write_steps(self, steps: list[Any]) -> None:
        """Store the ended steps of this run; none is open now."""
        if self._folder is not None:
            write(self._own("json"), json.dumps(dump(steps)))
            self.forget_open()

    def forget_open(self) -> None:
        """Delete the open step, which may be an earlier attempt's."""
        if self._folder is not None:
            with suppress(FileNotFoundError):
                self._own("open.json").unlink()

    def write_open(self, step: Open) -> None:
        """Store the current step of this run."""
        if self._folder is not None:
            # A loop of code may make many calls, and a killed process leaves them all the same.
            write(self._own("open.json"), json.dumps(step, default=vars), sync=False)

    def _own(self, ending: str) -> Path:
        return self._file(self._turn.run_id, ending)

    def _file(self, run: str, ending: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{quote(run, safe='')}.{ending}"


class Journal:
    """Keeps the files of this turn's run current. Tools may run in threads of their own."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.RLock()
        self._is_frozen = False
        self._has_changed = False
        self.open = Open(0)

    @property
    def is_frozen(self) -> bool:
        """Whether the files are left as they are."""
        return self._is_frozen

    def freeze(self) -> None:
        """Leave the files as they are: the process ends while calls wait for a person."""
        with self._lock:
            self._is_frozen = True

    def end_step(self, steps: list[Any]) -> None:
        """These are all steps of the run so far."""
        with self._lock:
            if not self._is_frozen:
                self._memory.write_steps(steps)
                self.open, self._has_changed = Open(len(steps)), False

    def say(self, text: str) -> None:
        """The model said this; it is stored with the next call, or when the run is left."""
        with self._lock:
            self.open.text += text
            self._has_changed = True

    def add(self, call: Call) -> None:
        """A call comes next."""
        with self._lock:
            self.open.calls.append(call)
            self._write()

    def change(self, call: Call, **fields: Any) -> None:
        """The state of a call has changed."""
        with self._lock:
            for name, value in fields.items():
                setattr(call, name, value)
            self._write()

    def leave(self) -> None:
        """The run has ended, if by itself or not."""
        with self._lock:
            if self._has_changed:
                self._write()
            self._is_frozen = True

    def _write(self) -> None:
        if not self._is_frozen:
            self._memory.write_open(self.open)
            self._has_changed = False


# The end of a step that was open


def ended(sdk: Any, step: Open) -> Any:
    """The step as it is told to the model."""
    own = [call for call in step.calls if not call.agents and not call.within]
    code = next((call.arguments["code"] for call in own if call.is_code), None)
    calls = [
        sdk.memory.ToolCall(id=call.id, name=call.name, arguments=_arguments(call)) for call in own
    ]
    results = [told(call, step) for call in sorted(own, key=lambda call: call.id)]
    return action(
        sdk,
        calls,
        number=step.after,
        model_output=step.text.strip() or None,
        code_action=code,
        observations="\n".join(results) if results else None,
    )


def _arguments(call: Call) -> Any:
    return call.arguments["code"] if call.is_code else call.arguments


def told(call: Call, step: Open) -> str:
    """The result of a call, with the calls that code or an agent made for it."""
    if call.output is not None or not call.was_made:
        return call.result
    inner = [each for each in step.calls if call.id == each.within or call.id in each.scope[-1:]]
    if not inner and not call.is_code:
        return call.result
    start = CODE_ENDED if call.is_code else AGENT_ENDED
    return "\n".join([start, *(_line(each, step) for each in inner)])


def _line(call: Call, step: Open) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return CALLED.format(name=call.name, arguments=given, output=told(call, step))
