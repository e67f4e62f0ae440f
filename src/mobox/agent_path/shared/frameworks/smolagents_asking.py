"""Tools of smolagents that wait for a person or for the page, which smolagents itself has not.

========== ===================================== ============================================
kind       tools                                 the result
========== ===================================== ============================================
approval   those of `needs_approval`             the tool's own, if a person allows the call
question   smolagents' `UserInputTool`           the answer
tool       those of the page                     what the page returns
========== ===================================== ============================================

Rule 1: such a tool is never called by smolagents itself, only by `shared.frameworks.smolagents`.
Rule 2: a request waits in the thread of its call. If the process ends meanwhile, the answer comes
        to the next one: smolagents_late.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from copy import copy
from functools import partial
from keyword import iskeyword
from typing import Any, NamedTuple

from .. import control, emitter
from .smolagents_memory import Call, Journal

__all__ = [
    "Answer", "Asked", "Outcome", "Person", "Stopped", "asked_of", "calling", "needs_approval",
    "new_request", "outcome_of", "page_tools", "unwrapped",
]  # fmt: skip

Answer = dict[str, Any]
"""`decision`, `value` and `reason`."""

MARK, WRAPPED = "mobox_asks", "mobox_wrapped"
UNATTENDED = "{} needs an approval: run its agent with shared.frameworks.smolagents"
REFUSED = {
    "approval": "The user denied this call. Do not repeat it unless the user asks for it.",
    "question": "The user did not answer.",
    "tool": "The page could not run this call.",
}


TYPES = ("string", "boolean", "integer", "number", "array", "object", "null")
"""JSON's types, as smolagents calls them."""


class Stopped(BaseException):
    """The run is being stopped; not an `Exception`, which smolagents would tell the model."""


class Asked(NamedTuple):
    """What is asked before a tool is called."""

    kind: str
    prompt: str | None = None
    allow: tuple[str, ...] = ()
    when: Callable[..., Any] | None = None


def needs_approval(
    tool: Any,
    *,
    when: Callable[..., Any] | None = None,
    prompt: str | None = None,
    allow: Sequence[str] = emitter.DECISIONS,
) -> Any:
    """The tool, with calls that a person has to approve: `tools=[needs_approval(delete_file)]`.

    `when`, called with the tool's arguments, returns whether a call needs it. `allow` are the
    decisions that a person may make.
    """
    if not set(emitter.DECISIONS).issuperset(allow):
        raise ValueError(f"allow: expected some of {', '.join(emitter.DECISIONS)}, got {allow!r}")

    def refuse(_self: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise PermissionError(UNATTENDED.format(tool.name))

    made = calling(tool, refuse)
    setattr(made, MARK, Asked("approval", prompt or f"Allow {tool.name}?", tuple(allow), when))
    setattr(made, WRAPPED, tool)
    return made


def calling(thing: Any, call: Callable[..., Any]) -> Any:
    """A copy of a tool or an agent that is called by `call`, whose first argument is the copy."""
    made, kind = copy(thing), type(thing)
    made.__class__ = type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__})
    return made


def asked_of(tool: Any, arguments: dict[str, Any] | None = None) -> Asked | None:
    """What is asked before a call of this tool; without arguments, before some call of it."""
    asked: Asked | None = getattr(tool, MARK, None)
    if asked is None and type(tool).__name__ == "UserInputTool":
        return Asked("question", str((arguments or {}).get("question") or ""))
    if asked is not None and asked.when is not None and arguments is not None:
        return asked if asked.when(**arguments) else None
    return asked


def unwrapped(tool: Any) -> Any:
    """The tool itself."""
    return getattr(tool, WRAPPED, tool)


# The page's tools


def page_tools(sdk: Any, turn: Any) -> dict[str, Any]:
    """The tools of the page as tools of smolagents, by name."""
    made = {}
    for tool in turn.frontend["tools"]:
        name = str(tool.get("name"))
        if name.isidentifier() and not iskeyword(name):
            made[name] = _page_tool(sdk, name, tool)
        else:
            sys.stderr.write(f"mobox: a tool of smolagents cannot be called {name!r}\n")
    return made


def _page_tool(sdk: Any, name: str, tool: dict[str, Any]) -> Any:
    schema = tool.get("parameters") or {}
    required = schema.get("required") or ()
    inputs = {
        key: _input(key, value, key in required)
        for key, value in (schema.get("properties") or {}).items()
    }
    fields = {
        "name": name,
        "description": str(tool.get("description") or name),
        "inputs": inputs,
        "output_type": "any",
        "skip_forward_signature_validation": True,
        MARK: Asked("tool"),
    }
    return type("PageTool", (sdk.Tool,), fields)()


def _input(name: str, schema: Any, is_required: bool) -> dict[str, Any]:
    given = schema if isinstance(schema, dict) else {}
    kind = given.get("type")
    about = {"description": name, **given, "type": kind if kind in TYPES else "any"}
    return about if is_required else {**about, "nullable": True}


# Requests and answers


class Outcome(NamedTuple):
    """What an answer makes of a call."""

    is_made: bool
    arguments: dict[str, Any] | None = None
    """Those that the person has changed."""
    output: Any = None
    """The result, if the call is not made."""
    status: str = "ok"


def outcome_of(kind: str, answer: Answer) -> Outcome:
    """What an answer makes of a call that was asked about."""
    decision, value = answer.get("decision"), answer.get("value")
    if decision == "answered":
        return Outcome(False, output=value)
    if kind == "approval" and decision == "approved":
        return Outcome(True)
    if kind == "approval" and decision == "edited" and isinstance(value, dict):
        return Outcome(True, value)
    words = [REFUSED[kind], str(answer.get("reason") or "")]
    status = "denied" if kind == "approval" else "error"
    return Outcome(False, output=" ".join(filter(None, words)), status=status)


class Person:
    """Who is asked in one turn."""

    def __init__(self, turn: Any, journal: Journal) -> None:
        self._turn, self._journal = turn, journal

    def ask(self, *asked: tuple[Call, Asked]) -> list[Callable[[], Answer]]:
        """Emit requests about calls; returns what waits for their answers."""
        requests = [
            (call.request, each.kind, each.prompt, _about(call, each)) for call, each in asked
        ]
        if hasattr(self._turn, "ask"):  # of a function agent
            questions = [
                self._turn.ask(prompt, kind, id=name, **about)
                for name, kind, prompt, about in requests
            ]
            return [partial(self._wait, partial(_answer_of, each)) for each in questions]
        waiting: tuple[str, ...] = ()
        for name, kind, prompt, about in requests:
            emitter.emit_input_request(kind, name, prompt=prompt, **about)
            waiting = control.waits_for(name)
        emitter.emit_paused(*waiting)
        return [partial(self._wait, partial(control.wait_for_answer, each[0])) for each in requests]

    def _wait(self, answer: Callable[[], Answer]) -> Answer:
        try:
            given = answer()
        except CancelledError:
            given = dict(control.CANCELLED)
        if getattr(self._turn, "stopping", False) or control.stopping():
            # An answer that has just come goes to the next process.
            self._journal.freeze()
            raise Stopped
        return given


def new_request(call_id: str) -> str:
    """The id of a request; another one if the run is retried, and makes other calls."""
    return f"may_{call_id}_{os.urandom(3).hex()}"


def _about(call: Call, asked: Asked) -> dict[str, Any]:
    if asked.kind == "question":
        return {"scope": call.scope} if call.scope else {}
    about: dict[str, Any] = {"tool_call_id": call.id}
    about |= {"scope": call.scope} if call.scope else {}
    return {**about, "allowed": list(asked.allow)} if asked.allow else about


def _answer_of(question: Any) -> Answer:
    answer = question.result()
    return {name: getattr(answer, name) for name in ("decision", "value", "reason")}
