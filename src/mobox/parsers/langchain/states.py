"""The state of a graph beside its messages: the plan, all other keys, and its interrupts.

Rule 1: messages and the plan have events of their own; the rest of the state is STATE, and the
        files in it that a deep agent has written are FILEs too.
Rule 2: a graph that sends its whole state needs no patches; its state is emitted when it changed.
Rule 3: an agent's state is that of its own graph, not of graphs that are nodes of it.
Rule 4: one interrupt may be about several calls; each is a request of its own, and the agent
        resumes the graph when all have been answered. `resume` names the interrupt and the index
        of its action. A call of a tool of the page is one, too.
Rule 5: an interrupt comes several times (a node's update, the graph's state, the run's result),
        and is requested once.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final

from msgspec import ValidationError, convert
from msgspec.structs import replace

from mobox.events import JSON, Events, File, InputRequest, Paused, Scope, State, TodoItem
from mobox.events.names import IdAllocator
from mobox.parsers.langchain import wire
from mobox.parsers.langchain.calls import Calls
from mobox.parsers.langchain.wire import Namespace, Object, unwrapped
from mobox.parsers.tool_kinds import todo_change, todo_item
from mobox.parsers.values import first_text

_SEPARATE: Final = {"messages", "todos", "__interrupt__", "_lc", "_class", "jump_to"}
_TYPES: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "svg": "image/svg+xml",
}
"""Media types of files, by their extensions."""


class States:
    """The plans and states of a run's agents, by their scopes."""

    def __init__(self, *, is_later_attempt: bool) -> None:
        self._is_later_attempt = is_later_attempt
        self._old_plans: dict[Scope, tuple[TodoItem, ...]] = {}  # until another one is made
        self._plans: dict[Scope, tuple[TodoItem, ...]] = {}
        self._states: dict[Scope, Object] = {}
        self._files: dict[str, str] = {}  # texts of the root's files
        self._seen: set[Scope] = set()  # scopes whose whole state was sent

    def is_new(self, namespace: Namespace) -> bool:
        """Whether this is the first state of a graph."""
        return namespace not in self._seen

    def old_plan(self, state: Object, scope: Scope) -> None:
        """The plan of the history: of an earlier run, or of an earlier attempt of this one."""
        items = _items(state)
        if items and self._is_later_attempt:
            self._plans[scope] = items
        elif items:
            self._old_plans[scope] = items

    def plan(self, state: Object, scope: Scope) -> Events:
        """The change of the plan: one event or none."""
        items = _items(state)
        if items is None:
            return []
        if items == self._old_plans.get(scope):
            return []
        self._old_plans.pop(scope, None)
        before, self._plans[scope] = self._plans.get(scope, ()), items
        changes = todo_change(before, items)
        return [replace(event, scope=scope) for event in changes] if scope else changes

    def patch(self, update: Object, scope: Scope, namespace: Namespace) -> Events:
        """The changes of a node."""
        value = _rest(update)
        if not value or namespace in self._seen or len(namespace) != len(scope):
            return []
        known = self._states.setdefault(scope, {})
        if all(name in known and known[name] == value[name] for name in value):
            return []
        self._states[scope] = {**known, **value}
        return [State(scope=scope, mode="patch", value=value)]

    def snapshot(self, state: Object, scope: Scope, namespace: Namespace) -> Events:
        """The whole state, if it changed."""
        value, known = _rest(state), self._states.get(scope, {})
        self._seen.add(namespace)
        if value == known or not (known or any(value.values())) or len(namespace) != len(scope):
            return []
        self._states[scope] = value
        snapshot = State(scope=scope, mode="snapshot", value=value)
        return [snapshot] if scope else [snapshot, *self._files_in(value)]

    def _files_in(self, state: Object) -> Events:
        """The files of the run that are new or changed."""
        files = state.get("files")
        events: Events = []
        for path, file in files.items() if isinstance(files, dict) else ():
            text = _text_of(file)
            if text is not None and self._files.get(path) != text:
                self._files[path] = text
                events.append(_file(path, text))
        return events


def _items(state: Object) -> tuple[TodoItem, ...] | None:
    """The plan in a state; `None` if there is none."""
    todos = state.get("todos")
    if not isinstance(todos, list):
        return None
    try:
        parsed = [convert(todo, wire.Todo) for todo in todos]
    except ValidationError:
        return None  # another application's key; it is in the call
    return tuple(todo_item(todo.content, todo.status) for todo in parsed)


def _text_of(file: JSON) -> str | None:
    """The content of a file in a deep agent's state: its text, or its lines."""
    content = file.get("content") if isinstance(file, dict) else file
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "\n".join(content)
    is_text = not isinstance(file, dict) or file.get("encoding") in (None, "utf-8")
    return content if isinstance(content, str) and is_text else None


def _file(path: str, text: str) -> File:
    data = text.encode(errors="replace")
    suffix = path.rpartition(".")[2].lower()
    return File(
        media_type=_TYPES.get(suffix, "text/plain"),
        base64=b64encode(data).decode(),
        name=path,
        size=len(data),
    )


def _rest(state: Object) -> Object:
    return {name: value for name, value in state.items() if name not in _SEPARATE}


_ALLOWED_BY: Final = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_ignore": "reject",
    "allow_respond": "respond",
}
"""The allowed decisions, by the flags of old agents."""
_PROMPTS: Final = ("question", "prompt", "message", "query", "description", "text")


class Interrupts:
    """The interrupts of one run as input requests; approvals of calls are one kind."""

    def __init__(self, names: IdAllocator, calls: Calls) -> None:
        self._names = names
        self._calls = calls
        self._seen: set[str] = set()
        self.waiting: list[str] = []
        """The ids of the requests, while the run waits."""

    def request_input(self, raws: JSON, scope: tuple[str, ...]) -> Events:
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
        if (call := _frontend_call(interrupt.value)) is not None:
            yield self._tool(name, scope, call)
        elif not actions:
            yield _question(name, scope, interrupt)
        for number, action in enumerate(actions):
            request = name if len(actions) == 1 else f"{name}:{number}"
            resume = {"interrupt": name, "action": number}
            yield self._approval(request, scope, action, resume, interrupt.value)

    def _tool(self, name: str, scope: tuple[str, ...], call_id: str) -> InputRequest:
        call = self._calls.get(call_id)
        inner = scope if call is None else call.scope
        resume = {"interrupt": name}
        return InputRequest(id=name, scope=inner, kind="tool", tool_call_id=call_id, resume=resume)

    def _approval(
        self, name: str, scope: tuple[str, ...], action: Object, resume: Object, whole: JSON
    ) -> InputRequest:
        call = self._calls.find_call(first_text(action, "name", "action"), action.get("args"))
        if call is not None:
            call.has_request = True
        return InputRequest(
            id=name,
            scope=scope if call is None else call.scope,
            kind="approval",
            tool_call_id=None if call is None else call.id,
            prompt=first_text(action, "description"),
            allowed=_decisions(whole, first_text(action, "name", "action")),
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


def _frontend_call(value: JSON) -> str | None:
    """The call of a tool of the page: what `frontend_tools` interrupts with."""
    about = value.get("frontend_tool") if isinstance(value, dict) else None
    return first_text(about, "tool_call_id") if isinstance(about, dict) else None


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
            decisions = listed if isinstance(listed, list) else []
            return tuple(each for each in decisions if isinstance(each, str))
    return ()


def _decisions_of_old(value: list[Any], name: JSON) -> tuple[str, ...]:
    for each in [each for each in value if isinstance(each, dict)]:
        action, config = each.get("action_request"), each.get("config")
        named = first_text(action, "name", "action") if isinstance(action, dict) else None
        if named == name and isinstance(config, dict):
            return tuple(name for flag, name in _ALLOWED_BY.items() if config.get(flag))
    return ()


def _question(name: str, scope: tuple[str, ...], interrupt: wire.Interrupt) -> InputRequest:
    value = interrupt.value
    prompt = value if isinstance(value, str) else None
    if isinstance(value, dict):
        prompt = first_text(value, *_PROMPTS)
    return InputRequest(
        id=name,
        scope=scope,
        kind="question" if prompt else "input",
        prompt=prompt,
        schema=interrupt.response_schema,
        options=None if isinstance(value, str) else value,
        resume={"interrupt": name},
    )
