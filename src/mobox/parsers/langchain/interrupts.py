"""Interrupts of a graph as input requests; approvals of calls are one kind.

Rule 1: one interrupt may be about several calls; each is a request of its own, and the agent
        resumes the graph when all have been answered. `resume` names the interrupt and the
        index of its action.
Rule 2: an interrupt comes several times (a node's update, the graph's state, the run's result),
        and is requested once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import convert

from mobox.events import JSON, Events, InputRequest, Paused
from mobox.names import Names
from mobox.parsers.json_values import text_in
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import Calls
from mobox.parsers.langchain.objects import unwrapped

__all__ = ["Interrupts"]

Object = dict[str, JSON]

_ALLOWED_BY: Final = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_ignore": "reject",
    "allow_respond": "respond",
}
"""The allowed decisions, by the flags of old agents."""
_PROMPTS: Final = ("question", "prompt", "message", "query", "description", "text")


class Interrupts:
    """The requests of one run without an answer."""

    def __init__(self, names: Names, calls: Calls) -> None:
        self._names = names
        self._calls = calls
        self._seen: set[str] = set()
        self.waiting: list[str] = []
        """The ids of the requests, while the run waits."""

    def ask(self, raws: JSON, scope: tuple[str, ...]) -> Events:
        """The requests in a list of interrupts, and PAUSED; nothing if all are known.

        An empty list is a breakpoint: the graph stops before a node, for inspection.
        """
        raws = raws if isinstance(raws, list) else [raws]
        values = [unwrapped(raw) for raw in raws if isinstance(raw, dict)]
        requests = [request for raw in values for request in self._requests(raw, scope)]
        if not raws:
            requests = list(self._breakpoint(scope))
        if not requests:
            return []
        self.waiting += [str(request.id) for request in requests]
        return [*requests, self.pause()]

    def pause(self) -> Paused:
        """PAUSED: the run waits for an answer."""
        return Paused(request_ids=tuple(self.waiting))

    def _requests(self, raw: Object, scope: tuple[str, ...]) -> Iterator[InputRequest]:
        interrupt = convert(raw, wire.Interrupt)
        name = interrupt.id or self._names.fresh("interrupt")
        if name in self._seen:
            return
        self._seen.add(name)
        actions = _actions(interrupt.value)
        if not actions:
            yield _question(name, scope, interrupt)
        for number, action in enumerate(actions):
            request = name if len(actions) == 1 else f"{name}:{number}"
            resume = {"interrupt": name, "action": number}
            yield self._approval(request, scope, action, resume, interrupt.value)

    def _approval(
        self, name: str, scope: tuple[str, ...], action: Object, resume: Object, whole: JSON
    ) -> InputRequest:
        call = self._calls.meant(text_in(action, "name", "action"), action.get("args"))
        if call is not None:
            call.has_request = True
        return InputRequest(
            id=name,
            scope=scope if call is None else call.scope,
            kind="approval",
            tool_call_id=None if call is None else call.id,
            prompt=text_in(action, "description"),
            allowed=_decisions(whole, text_in(action, "name", "action")),
            resume=resume,
        )

    def _breakpoint(self, scope: tuple[str, ...]) -> Iterator[InputRequest]:
        if self.waiting:
            return
        for call in [call for call in self._calls.unanswered if not call.has_request]:
            call.has_request = True
            name = self._names.fresh("interrupt")
            yield InputRequest(id=name, scope=call.scope, tool_call_id=call.id)
        if not self._calls.unanswered:
            yield InputRequest(id=self._names.fresh("interrupt"), scope=scope, kind="input")


def _actions(value: JSON) -> list[Object]:
    """The calls to approve; also in the spelling of JavaScript and of old agents."""
    requests: JSON = None
    if isinstance(value, list):  # one request a call
        requests = [each.get("action_request") for each in value if isinstance(each, dict)]
    elif isinstance(value, dict):
        requests = value.get("action_requests") or value.get("actionRequests")
    listed = requests if isinstance(requests, list) else []
    return [each for each in listed if isinstance(each, dict)]


def _decisions(value: Any, name: JSON) -> tuple[str, ...]:
    """The allowed decisions about a call."""
    if isinstance(value, list):
        return _decisions_of_old(value, name)
    if not isinstance(value, dict):
        return ()
    configs = value.get("review_configs") or value.get("reviewConfigs") or []
    for config in configs if isinstance(configs, list) else []:
        if isinstance(config, dict) and name in (
            config.get("action_name"),
            config.get("actionName"),
        ):
            listed = config.get("allowed_decisions") or config.get("allowedDecisions")
            words = listed if isinstance(listed, list) else []
            return tuple(word for word in words if isinstance(word, str))
    return ()


def _decisions_of_old(value: list[Any], name: JSON) -> tuple[str, ...]:
    for each in [each for each in value if isinstance(each, dict)]:
        action, config = each.get("action_request"), each.get("config")
        named = text_in(action, "name", "action") if isinstance(action, dict) else None
        if named == name and isinstance(config, dict):
            return tuple(word for flag, word in _ALLOWED_BY.items() if config.get(flag))
    return ()


def _question(name: str, scope: tuple[str, ...], interrupt: wire.Interrupt) -> InputRequest:
    value = interrupt.value
    prompt = value if isinstance(value, str) else None
    if isinstance(value, dict):
        prompt = text_in(value, *_PROMPTS)
    return InputRequest(
        id=name,
        scope=scope,
        kind="question" if prompt else "input",
        prompt=prompt,
        schema=interrupt.response_schema,
        options=None if isinstance(value, str) else value,
        resume={"interrupt": name},
    )
