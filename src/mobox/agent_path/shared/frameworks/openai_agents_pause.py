"""Where a run of the Agents SDK has paused, as a file in the chat's state folder.

The SDK's `RunState` has the whole conversation with its images, and the run's context. So only the
name of the file is in the log.

Rule 1: the file is on the disk before the pause is emitted.
Rule 2: each pause of a run has a file of its own. It is deleted before the run continues from it,
        so that its calls are not made twice, and when another run of the chat starts: then the
        paused one is cancelled.
Rule 3: decisions are matched by the id of the call. A call without one waits on.
Rule 4: the SDK counts the tokens and turns of the whole run; the record has those of this process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from .openai_agents_memory import FOLDER
from .openai_agents_page import PageTools
from .state_files import folder_of, write

__all__ = ["Pause", "Pauses", "resumed"]

DENIED = "Tool execution was not approved."
"""The parser knows a denied call by these words of the SDK."""
LOST = "the state in which this run paused is lost, so that its answers cannot be used; retry it"
NOT_JSON = "the state of this run cannot be stored: its `context` has values that are not JSON"
COUNTS = ("requests", "input_tokens", "output_tokens", "total_tokens")
DETAILS = {
    "input_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "output_tokens_details": ("reasoning_tokens",),
}


class Pause(NamedTuple):
    """What the next process needs to continue a run."""

    state: dict[str, Any]
    """The SDK's `RunState`, as JSON."""
    tools: list[dict[str, Any]]
    """The tools of the page at that time."""
    usage: dict[str, Any]
    """The tokens that the run had used until then."""
    turns: int


class Pauses:
    """The pauses of one run."""

    def __init__(self, turn: Any) -> None:
        self._folder, self._turn = folder_of(turn, FOLDER), turn

    def begin(self) -> Pause | None:
        """The pause that this turn's answers continue; `None` if it starts a run."""
        if self._turn.kind != "answers":
            self._forget_all()
            return None
        file = self._file()
        if file is None:
            raise RuntimeError(LOST)
        try:
            return Pause(**json.loads(file.read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise RuntimeError(LOST) from error

    def end_last(self) -> None:
        """The run continues from its last pause now, once."""
        file = self._file()
        if file is not None:
            file.unlink()

    def record(self, result: Any, before: Pause | None, page: PageTools) -> dict[str, Any]:
        """The line about the end of a run or its pause, which is stored with it."""
        usage, turns = _usage(result.context_wrapper.usage), result.current_turn
        stored = self._store(result, page, usage) if result.interruptions else None
        return {
            "__result__": True,
            "final_output": result.final_output,
            "current_turn": turns if before is None else max(turns - before.turns, 0),
            "interruptions": [_described(each, page) for each in result.interruptions],
            "usage": usage if before is None else _less(usage, before.usage),
            "state": stored,
        }

    def _store(self, result: Any, page: PageTools, usage: dict[str, Any]) -> Any:
        if self._folder is None:  # by hand: nobody can answer
            return None
        state = result.to_state().to_json(context_serializer=lambda _context: {})
        pause = Pause(state, page.described, usage, result.current_turn)
        try:
            text = json.dumps(pause._asdict())
        except (TypeError, ValueError) as error:
            raise TypeError(NOT_JSON) from error
        # A pause has a request at least, so that this number is another one for each.
        number = len(self._turn.answers) + len(self._turn.earlier_answers)
        name = f"{quote(self._turn.run_id, safe='')}.{number}.json"
        write(self._folder / name, text)
        return {"file": name}

    def _file(self) -> Path | None:
        resume = self._turn.resume
        name = resume.get("file") if isinstance(resume, Mapping) else None
        if self._folder is None or not isinstance(name, str):
            return None
        return self._folder / Path(name).name

    def _forget_all(self) -> None:
        for file in self._folder.glob("*.json") if self._folder is not None else ():
            with suppress(OSError):
                file.unlink()


# Decisions


async def resumed(
    sdk: Any, agent: Any, pause: Pause, answers: Any, page: PageTools, context: Any
) -> Any:
    """The state with a person's decisions, from which the SDK continues."""
    given = {str(each.get("request_id")): each for each in answers}
    made = None if isinstance(context, Mapping) else lambda _stored: context
    state = await sdk.RunState.from_json(agent, pause.state, context_deserializer=made)
    for item in state.get_interruptions():
        answer = given.get(str(_call_of(item)))
        if answer is None:
            continue
        message = page.failure(answer) if page.has(item.tool_name) else _denial(answer)
        if message is None:
            state.approve(item)
        else:
            state.reject(item, rejection_message=message)
    return state


def _denial(answer: dict[str, Any]) -> str | None:
    """What the model is told about a call that was not approved; `None` if it was."""
    if answer.get("decision") == "approved":
        return None
    return f"{DENIED} {answer.get('reason') or ''}".rstrip()


def _described(item: Any, page: PageTools) -> dict[str, Any]:
    kind = "tool" if page.has(item.tool_name) else "approval"
    about = {"tool_name": item.tool_name, "call_id": _call_of(item), "arguments": item.arguments}
    return {"kind": kind, **about}


def _call_of(item: Any) -> Any:
    """The id of a call; one of a hosted server has only the id of its request."""
    raw = item.raw_item if isinstance(item.raw_item, Mapping) else vars(item.raw_item)
    return raw.get("call_id") or raw.get("id")


# Tokens


def _usage(usage: Any) -> dict[str, Any]:
    counts: dict[str, Any] = {name: getattr(usage, name, None) or 0 for name in COUNTS}
    for group, names in DETAILS.items():
        details = getattr(usage, group, None)
        counts[group] = {name: getattr(details, name, None) or 0 for name in names}
    return counts


def _less(usage: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    less: dict[str, Any] = {name: max(usage[name] - before[name], 0) for name in COUNTS}
    for group, names in DETAILS.items():
        less[group] = {name: max(usage[group][name] - before[group][name], 0) for name in names}
    return less
