"""Shared state as a client has it, so that it can be patched, and sent to clients that join."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from mobox.events import JSON, State
from mobox.formatters.ag_ui.documents import Documents, custom, encode, event


class _DoesNotApply(ValueError):
    """A value that is not a patch, or does not apply to this state."""


class SharedState:
    """The state of one run, as its clients have it."""

    def __init__(self) -> None:
        self._value: JSON = {}  # the initial state of a client
        self._is_sent = False

    def format(self, log_event: State) -> Documents:
        """A snapshot, or a patch: a JSON Patch, or an object with the changed members."""
        if log_event.mode == "snapshot":
            self._value, self._is_sent = log_event.value, True
            return self.reopen()
        try:
            operations = _operations(log_event.value)
            self._value = _patched(self._value, operations)
        except _DoesNotApply:
            return [custom("mobox.state", {"mode": log_event.mode, "value": log_event.value})]
        self._is_sent = True
        return [event("STATE_DELTA", delta=operations)]

    def reopen(self) -> Documents:
        """The whole state, for a response that starts here."""
        if not self._is_sent:
            return []
        return [encode({"type": "STATE_SNAPSHOT", "snapshot": self._value})]


def _operations(value: JSON) -> list[dict[str, JSON]]:
    if isinstance(value, dict):
        return [
            {"op": "add", "path": "/" + _escaped(name), "value": new} for name, new in value.items()
        ]
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return [_operation(each) for each in value]
    raise _DoesNotApply


def _operation(operation: dict[str, JSON]) -> dict[str, JSON]:
    """A supported operation; AG-UI has others, which no framework here sends."""
    kind, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        raise _DoesNotApply
    if kind == "remove":
        return {"op": kind, "path": path}
    if kind not in ("add", "replace") or "value" not in operation:
        raise _DoesNotApply
    return {"op": kind, "path": path, "value": operation["value"]}


def _patched(state: JSON, operations: list[dict[str, JSON]]) -> JSON:
    state = deepcopy(state)
    for each in operations:
        *way, last = map(_unescaped, each["path"].split("/")[1:])
        place = state
        for step in way:
            place = place[_key(place, step)]
        _apply(place, last, each)
    return state


def _apply(place: Any, last: str, operation: dict[str, JSON]) -> None:
    kind, value = operation["op"], operation.get("value")
    if isinstance(place, list) and kind == "add":
        at = len(place) if last == "-" else _index(last, len(place) + 1)
        place.insert(at, deepcopy(value))
    elif isinstance(place, dict) and kind == "add" and last != "__proto__":
        place[last] = deepcopy(value)
    elif kind == "remove":
        del place[_key(place, last)]
    else:
        place[_key(place, last)] = deepcopy(value)


def _key(place: Any, step: str) -> Any:
    """The index or key of an existing value in `place`."""
    if isinstance(place, list):
        return _index(step, len(place))
    if isinstance(place, dict) and step in place:
        return step
    raise _DoesNotApply


def _index(step: str, end: int) -> int:
    if step.isdecimal() and step.isascii() and len(step) < 10 and int(step) < end:
        return int(step)
    raise _DoesNotApply


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
