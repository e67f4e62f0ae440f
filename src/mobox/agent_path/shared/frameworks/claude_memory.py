"""The memory of a chat with the Claude Agent SDK: its own sessions, found again by run.

The program keeps each session as a file of lines in its configuration folder, which is in the
chat's state folder. After every message of a run, a record names its session, the last message,
and the calls without a result. A turn starts from the record of the run before it.

Rule 1: a session that nobody has continued since is continued. Otherwise, as for an edit or a
        regeneration, it is forked at the message of the record; so a record never changes later.
Rule 2: a call without a result gets one before anything else is said: the API requires it.
Rule 3: records and the program's files are never repaired. If one is missing or damaged, a new
        session starts, with the history in its first message.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["Journal", "Memory", "Record", "Sessions", "calls_of", "results_of"]

SECONDS_BETWEEN_LOOKS, MOST_LOOKS = 0.02, 150
"""The program stores its messages a little later than it emits them."""
MOST_OF_END = 1024 * 1024
SYNTHETIC = "<synthetic>"
"""The model of messages that the program itself makes to report an error."""


@dataclass(frozen=True)
class Record:
    """Where a run has left its session."""

    run: str
    session: str = ""
    at: str = ""
    """The id of the last message."""
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The root agent's calls without a result: `name` and `input` by id."""
    asked: tuple[str, ...] = ()
    """Those of the calls that wait for a person: they were not made yet."""
    is_whole: bool = False
    """Whether the session ends with `at`, because the run has ended by itself."""


class Memory:
    """The records of a chat's runs, one small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, run: str | None) -> Record | None:
        """The record of a run, if it has one."""
        with suppress(OSError, ValueError, TypeError):
            found = json.loads(self._file(run or "").read_text("utf-8"))
            return Record(**{**found, "asked": tuple(found["asked"])})
        return None

    def write(self, record: Record) -> None:
        """Replace the record of a run; a process that is killed leaves the old or the new one."""
        file = self._file(record.run)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(record)), "utf-8")
        temporary.replace(file)

    def _file(self, run: str) -> Path:
        return self._folder / f"{quote(run, safe='')}.json"


class Journal:
    """Keeps the record of one run current, in its file."""

    def __init__(self, memory: Memory, sessions: Sessions, record: Record) -> None:
        self._memory, self._sessions = memory, sessions
        self._models, self._cost = sessions.spent(record.session)
        self._has_begun = self._is_frozen = False
        self.record = record

    def see(self, message: Any, prompt: str = "") -> Any:
        """Record a message; returns it with the counts of this run only.

        `prompt` is the id of the message that the session was given, with all results.
        """
        if not self._has_begun and _session_of(message):
            self._begin(_session_of(message), prompt)
        self._change(after(self.record, message))
        if type(message).__name__ == "ResultMessage":
            return without(message, self._models, self._cost)
        return message

    def _begin(self, session: str, prompt: str) -> None:
        self._has_begun = True
        self._sessions.belongs_to(session, self.record.run)
        if prompt:
            self._change(Record(self.record.run, session, prompt))
        else:
            self._change(replace(self.record, session=session))

    async def ask(self, call: str) -> None:
        """A call waits for a person from now on: the program has stored it when this returns."""
        for _ in range(MOST_LOOKS):
            if self._sessions.has(self.record.session, call):
                break
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        self._change(replace(self.record, asked=(*self.record.asked, call)))

    def let(self, call: str) -> None:
        """A call may be made from now on: it is never made again."""
        left = tuple(each for each in self.record.asked if each != call)
        self._change(replace(self.record, asked=left))

    def freeze(self) -> None:
        """Keep the record as it is: the process ends while calls wait for a person."""
        self._is_frozen = True

    def _change(self, record: Record) -> None:
        if record != self.record and not self._is_frozen:
            self.record = record
            self._memory.write(record)


def _session_of(message: Any) -> str:
    """The session that a message announces."""
    is_first = getattr(message, "subtype", None) == "init"
    return str(message.data.get("session_id") or "") if is_first else ""


def after(record: Record, message: Any) -> Record:
    """The record after another message of the root agent."""
    kind = type(message).__name__
    if kind == "ResultMessage":
        return replace(record, is_whole=not message.is_error and not record.calls)
    if kind not in ("AssistantMessage", "UserMessage") or message.parent_tool_use_id is not None:
        return record
    if getattr(message, "model", None) == SYNTHETIC or not message.uuid:
        return record
    calls = {**record.calls, **calls_of(message)}
    for call in results_of(message):
        calls.pop(call, None)
    asked = tuple(call for call in record.asked if call in calls)
    return replace(record, at=message.uuid, calls=calls, asked=asked, is_whole=False)


def calls_of(message: Any) -> dict[str, dict[str, Any]]:
    """The calls in a message: `name` and `input` by id."""
    blocks = message.content if isinstance(getattr(message, "content", None), list) else []
    calls = [block for block in blocks if type(block).__name__ == "ToolUseBlock"]
    return {call.id: {"name": call.name, "input": call.input} for call in calls}


def results_of(message: Any) -> list[str]:
    """The calls whose results a message has."""
    blocks = message.content if isinstance(getattr(message, "content", None), list) else []
    return [each.tool_use_id for each in blocks if type(each).__name__ == "ToolResultBlock"]


class Sessions:
    """The program's files of sessions."""

    def __init__(self, configuration: Path, own: Path) -> None:
        self._configuration = configuration
        self._last = own / "last"

    def has(self, session: str, name: str) -> bool:
        """Whether the end of a session names a message or a call."""
        file = self.file(session) if session else None
        if file is None:
            return False
        with suppress(OSError), file.open("rb") as lines:
            lines.seek(max(file.stat().st_size - MOST_OF_END, 0))
            return f'"{name}"'.encode() in lines.read()
        return False

    def options(self, record: Record) -> dict[str, Any] | None:
        """The options to continue from a record; `None` if its session is not there any more."""
        if not record.at or not any(record.at in line for line in self._lines(record.session)):
            return None
        if record.is_whole and self._last_run(record.session) == record.run:
            return {"resume": record.session}
        return {
            "resume": record.session,
            "fork_session": True,
            "resume_session_at": record.at,
        }

    def belongs_to(self, session: str, run: str) -> None:
        """A run continues a session: other runs from now on fork it."""
        self._last.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._last / quote(session, safe="")).write_text(run, "utf-8")

    def spent(self, session: str) -> tuple[dict[str, Any], float]:
        """The tokens of each model and the cost, from which the program goes on counting."""
        for line in reversed(list(self._lines(session))):
            if '"cost-state"' in line:
                with suppress(ValueError):
                    state = json.loads(line)
                    return state.get("modelUsage") or {}, state.get("totalCostUSD") or 0
        return {}, 0

    def file(self, session: str) -> Path | None:
        """The file of a session."""
        return next(self._configuration.glob(f"projects/*/{session}.jsonl"), None)

    def _lines(self, session: str) -> Iterator[str]:
        file = self.file(session) if session else None
        if file is not None:
            with suppress(OSError), file.open(encoding="utf-8", errors="replace") as lines:
                yield from lines

    def _last_run(self, session: str) -> str | None:
        with suppress(OSError):
            return (self._last / quote(session, safe="")).read_text("utf-8")
        return None


def without(result: Any, models: dict[str, Any], cost: float) -> Any:
    """A result whose counts are those of this run: the program counts the whole session."""
    if not result.model_usage:
        return result
    used = {name: _less(each, models.get(name) or {}) for name, each in result.model_usage.items()}
    total = result.total_cost_usd
    return replace(
        result,
        model_usage={name: each for name, each in used.items() if _has_tokens(each)},
        total_cost_usd=None if total is None else round(max(total - cost, 0), 9),
    )


COUNTS = ("Tokens", "Requests", "costUSD")


def _less(used: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    counted = [name for name in used if name.endswith(COUNTS) and name != "maxOutputTokens"]
    less = {name: max((used[name] or 0) - (before.get(name) or 0), 0) for name in counted}
    return {**used, **less}


def _has_tokens(used: dict[str, Any]) -> bool:
    return any(used.get(name) for name in used if name.endswith("Tokens") and name[:3] != "max")
