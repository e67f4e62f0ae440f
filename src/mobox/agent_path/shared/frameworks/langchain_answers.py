"""Answers of a person as what LangGraph resumes with: `Command(resume={interrupt id: …})`.

=================================== ===============================================================
interrupt                           request ids, and what it is resumed with
=================================== ===============================================================
HumanInTheLoopMiddleware's          `<id>` for one call; `<id>:0`, `<id>:1`, … for several. Resumed
                                    with `{"decisions": […]}`, in the order of its requests
`[{"action_request", "config"}]`    the same, resumed with `[{"type", "args"}, …]`
a tool of the page                  `<id>`; resumed with the whole answer
any other value                     `<id>`; resumed with the answer's value; `True` for approved
                                    and `False` for denied without one
=================================== ===============================================================

In versions of LangGraph where a node that interrupts several times has one interrupt id for all of
them, they are `<id>.2`, `<id>.3`, … from the second on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from typing import Any

__all__ = ["FRONTEND", "TURN", "Interrupts", "resume_values"]

FRONTEND = "frontend_tool"
"""The key of an interrupt that is a call of a tool of the page."""
TURN = "__mobox_turn"
"""The turn in a graph's config. LangGraph stores no keys that start so."""

Answer = dict[str, Any]
Action = dict[str, Any]

_SUFFIX = re.compile(r"(\.\d+)?(:\d+)?")


def resume_values(interrupts: Any, turn: Any) -> dict[str, Any]:
    """What to resume each pending interrupt with; one without an answer is left pending."""
    given = {str(each.get("request_id")): each for each in turn.answers}
    values = {}
    for interrupt in interrupts:
        name = request_name(interrupt.id, turn.earlier_answers)
        actions = actions_of(interrupt.value)
        names = [name] if len(actions) < 2 else [f"{name}:{n}" for n in range(len(actions))]
        answers = [given.get(each) for each in names]
        if any(answers):
            values[interrupt.id] = _value(interrupt.value, actions, answers)
    return values


def request_name(interrupt_id: str, earlier: list[Answer]) -> str:
    """The id of an interrupt's request: another one for each time that a node interrupts."""
    asked = [str(each.get("request_id")) for each in earlier]
    ends = [name[len(interrupt_id) :] for name in asked if name.startswith(interrupt_id)]
    pauses = {found[1] for end in ends if (found := _SUFFIX.fullmatch(end))}
    return f"{interrupt_id}.{len(pauses) + 1}" if pauses else interrupt_id


class Interrupts:
    """The interrupts of a stream, which are emitted when it has ended.

    LangGraph emits an interrupt before its checkpointer has stored it. A person who answers one
    that is not stored would be asked again.
    """

    def __init__(self, turn: Any) -> None:
        self._given = [*turn.answers, *turn.earlier_answers]
        self._held: list[Any] = []

    def take(self, event: Any) -> Any:
        """The event without its interrupts, which are held."""
        params: Any = event.get("params") if isinstance(event, dict) else None
        interrupts = params.get("interrupts") if isinstance(params, dict) else None
        if not interrupts:
            return event
        named = tuple(_renamed(each, request_name(each.id, self._given)) for each in interrupts)
        rest = {**params, "interrupts": named, "data": {}}
        self._held.append({**event, "method": "values", "params": rest})
        return {**event, "params": {**params, "interrupts": ()}}

    def all(self) -> list[Any]:
        """The held interrupts, as events."""
        return self._held


def _renamed(interrupt: Any, name: str) -> Any:
    renamed = copy(interrupt)
    renamed.id = name
    return renamed


def actions_of(value: Any) -> list[Action]:
    """The calls that an interrupt wants approved."""
    found: Any = value.get("action_requests") if isinstance(value, dict) else None
    if isinstance(value, list):
        found = [each.get("action_request") for each in value if isinstance(each, dict)]
    return [each for each in found or [] if isinstance(each, dict)]


def _value(value: Any, actions: list[Action], answers: list[Answer | None]) -> Any:
    decided = list(zip(actions, [each or {"decision": "cancelled"} for each in answers]))
    if isinstance(value, list) and actions:
        return [_OLD[answer["decision"]](action, answer) for action, answer in decided]
    if actions:
        return {
            "decisions": [_NEW[answer["decision"]](action, answer) for action, answer in decided]
        }
    answer = answers[0] or {}
    if isinstance(value, dict) and FRONTEND in value:
        return answer
    given = answer.get("value")
    return _PLAIN.get(str(answer.get("decision"))) if given is None else given


Write = Callable[[Action, Answer], Any]

_PLAIN = {"approved": True, "denied": False}


def _reject(_action: Action, answer: Answer) -> Any:
    reason = answer.get("reason") or answer.get("value")
    return {"type": "reject", **({"message": reason} if isinstance(reason, str) else {})}


def _edit(action: Action, answer: Answer) -> Any:
    edited = {"name": action.get("name"), "args": answer.get("value")}
    return {"type": "edit", "edited_action": edited}


_NEW: dict[str, Write] = {
    "approved": lambda _action, _answer: {"type": "approve"},
    "answered": lambda _action, answer: {"type": "respond", "message": answer.get("value")},
    "cancelled": lambda _action, _answer: {"type": "reject", "message": "The user cancelled it."},
    "denied": _reject,
    "edited": _edit,
}
_OLD: dict[str, Write] = {
    "approved": lambda _action, _answer: {"type": "accept", "args": None},
    "answered": lambda _action, answer: {"type": "response", "args": answer.get("value")},
    "cancelled": lambda _action, _answer: {"type": "ignore", "args": None},
    "denied": lambda _action, _answer: {"type": "ignore", "args": None},
    "edited": lambda action, answer: {
        "type": "edit",
        "args": {"action": action.get("action"), "args": answer.get("value")},
    },
}
