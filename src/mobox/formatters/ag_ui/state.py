"""The state that agent and page share: patched, sent to clients that join, set by a page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from mobox.events import JSON, LogEntry, State
from mobox.formatters import Formatter, joining
from mobox.formatters.ag_ui.documents import Documents, custom, encode, event
from mobox.formatters.pieces import LINE_END, split


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


class PageState(NamedTuple):
    """A page's state, and the entry after which the agent received it."""

    after: int
    value: JSON


class PageStateFormatter:
    """Wraps a formatter and applies the states of pages, without sending them.

    A page sends its state with every request, and may have changed it since the last one. So each
    request sets the state to the page's, and the agent's changes apply to that.
    """

    def __init__(self, formatter: Formatter, states: Iterable[PageState]) -> None:
        self._formatter = formatter
        self._states = deque(states)
        self._seen = 0

    def format(self, entry: LogEntry) -> list[bytes]:
        """The documents of `entry`."""
        return split(self.format_joined((entry,), LINE_END))

    def format_joined(self, entries: Sequence[LogEntry], between: bytes) -> bytes:
        """The documents of `entries`, with `between` between each two."""
        format_entries, documents = joining(self._formatter), []
        while self._states and self._states[0].after < entries[-1].seq:
            done = sum(entry.seq <= self._states[0].after for entry in entries)
            documents.append(format_entries(entries[:done], between))
            entries = entries[done:]
            self._apply_state(self._states.popleft())
        self._seen = entries[-1].seq
        return between.join(filter(None, [*documents, format_entries(entries, between)]))

    def pause(self) -> list[bytes]:
        """The documents that end a response where the run waits for an answer."""
        return self._formatter.pause()

    def resume(self) -> list[bytes]:
        """The documents that start a response in the middle."""
        while self._states and self._states[0].after <= self._seen:
            self._apply_state(self._states.popleft())
        return self._formatter.resume()

    def _apply_state(self, state: PageState) -> None:
        self._formatter.format(LogEntry(0, 0, None, State(mode="snapshot", value=state.value)))


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
