"""The tool calls of one run: the call in one message, its results in others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    ToolKind,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters.panes.messages import (
    Component,
    Documents,
    Message,
    Messages,
    Policy,
    shown,
)
from mobox.formatters.values import FAILED_OUTCOMES, call_error

USED: Final = "🛠️ Used tool"
LOGS: Final = "📝 Execution Logs"
ERROR: Final = "💥 Error"
RETURNED: Final = "↩️ Returned"


class _Call:
    """State of a call for its later events."""

    def __init__(self, start: ToolUseStart, message: Message) -> None:
        self.start = start
        self.message = message
        self.code = StreamedCode()
        self.outputs: dict[Component, Message] = {}
        self.returned: Message | None = None


class Calls:
    """Every call of the run so far."""

    def __init__(self, messages: Messages, policy: Policy) -> None:
        self._messages = messages
        self._policy = policy
        self._calls: dict[str | None, _Call] = {}
        self._retracted: set[str | None] = set()

    def is_code(self, name: str | None) -> bool:
        """Whether this is a call that runs code."""
        return name in self._calls and self._calls[name].start.kind == "code"

    def start(self, event: ToolUseStart) -> Documents:
        """A call starts."""
        about = self._about(event, "tool_call", f"{USED} {event.name}")
        message = self._messages.new(
            self._policy.of_call(event.kind), event.id, **about, display=event.display
        )
        self._calls[event.id] = _Call(event, message)
        self._retracted.discard(event.id)
        return self._messages.pending(message)

    def more(self, event: ToolUseDelta) -> Documents:
        """A delta of a call's input; only code is shown before it is complete."""
        if event.id in self._retracted:
            return []
        before, call = self._found(event)
        code = call.code.feed(event.delta) if call.start.kind == "code" else ""
        return before + self._messages.more(call.message, code)

    def end(self, event: ToolUseEnd) -> Documents:
        """The input of a call is complete."""
        if event.id in self._retracted:
            return []
        before, call = self._found(event)
        kind, message = call.start.kind, call.message
        if kind == "code":
            message.about["language"] = _language_of(event.input)
        message.about["event_type"] = "tool_invocation"
        given = event.invalid or _INPUTS.get(kind, shown)(event.input)
        return before + self._messages.done(message, given)

    def result(self, event: ToolResult) -> Documents:
        """A final or partial result."""
        if event.id in self._retracted:
            return []
        before, call = self._found(event)
        failed = event.status in FAILED_OUTCOMES
        output, closing = self._output(call, failed)
        text = _printed(event.output) or (call_error(event) if failed else "")
        write = self._partial if event.partial else self._messages.done
        return [*before, *closing, *write(output, text), *self._returned(call, event)]

    def forget(self, name: str) -> None:
        """A call was retracted: its later events are ignored."""
        if self._calls.pop(name, None) is not None:
            self._retracted.add(name)

    def _found(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> tuple[Documents, _Call]:
        """The call; started here if its start is missing or RAW."""
        before: Documents = []
        if event.id not in self._calls:
            before = self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        return before, self._calls[event.id]

    def _output(self, call: _Call, failed: bool) -> tuple[Message, Documents]:
        """The message for a call's output, and the end of one that started in another pane."""
        component = self._policy.of_result(call.start.kind, failed)
        others = [each for name, each in call.outputs.items() if name != component]
        pending = filter(self._messages.is_pending, others)
        closed = [document for message in pending for document in self._messages.done(message)]
        if component not in call.outputs:
            about = self._about(call.start, "tool_output", LOGS)
            call.outputs[component] = self._messages.new(component, call.start.id, **about)
        message = call.outputs[component]
        message.about["title"] = ERROR if failed else LOGS
        return message, closed

    def _partial(self, message: Message, text: str) -> Documents:
        """The new part of an output that is repeated as it grows, or all of a different one."""
        if self._messages.is_pending(message) and text.startswith(message.content):
            return self._messages.more(message, text[len(message.content) :])
        return self._messages.pending(message, text)

    def _returned(self, call: _Call, event: ToolResult) -> Documents:
        """The value that code returned, beside the code."""
        if call.start.kind != "code" or event.structured is None or event.partial:
            return []
        if call.returned is None:
            about = self._about(call.start, "action_output", RETURNED)
            call.returned = self._messages.new("webide", call.start.id, **about)
        return self._messages.done(call.returned, shown(event.structured))

    def _about(self, start: ToolUseStart, event_type: str, title: str) -> dict[str, JSON]:
        return {
            "event_type": event_type,
            "tool_name": start.name,
            "tool_id": start.id,
            "title": title,
            "scope": start.scope,
        }


# Code, commands and printed output, in inputs and outputs of tools

_PRINTED: Final = ("stdout", "stderr", "logs", "output", "text")
"""Keys of results that hold printed output, in the order in which it is shown."""
_CODE: Final = (
    *("python_code", "source_code", "script", "source", "cell", "query", "command", "input"),
    "__arg1",
)
"""Other keys of a Python tool's input that may hold its code; LangChain's REPL uses `query`."""
_DEEPEST: Final = 16
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_BEFORE: Final = re.compile(
    rf'\s*\{{\s*(?:(?!"code"){_STRING}\s*:\s*(?:{_STRING}|[^"\\{{}}\[\],\s]+)\s*,\s*)*"code"\s*:\s*"'
)
"""An object up to its member `code`; members before it may be strings, numbers or literals."""
_LONGEST: Final = 2048
"""Characters after which the search for the code stops."""
_WHOLE: Final = re.compile(
    r'(?:[^"\\]'
    r'|\\["\\/bfnrt]'
    r"|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)
"""Characters of a JSON text, each of them complete."""


class StreamedCode:
    """Extracts the code from a call's input while it is streamed: a prefix of JSON text.

    Code that cannot be found in the prefix is sent at the end, when the input is complete.
    """

    def __init__(self) -> None:
        self._unread = ""
        self._has_started = self._is_over = False

    def feed(self, delta: str) -> str:
        """The new part of the code."""
        if self._is_over:
            return ""
        self._unread += delta
        if not self._has_started:
            self._look_for_code()
        return self._code() if self._has_started else ""

    def _look_for_code(self) -> None:
        if before := _BEFORE.match(self._unread):
            self._has_started, self._unread = True, self._unread[before.end() :]
        elif len(self._unread) > _LONGEST:
            self._is_over = True

    def _code(self) -> str:
        found = _WHOLE.match(self._unread)
        assert found is not None  # it may be empty
        self._unread = self._unread[found.end() :]
        self._is_over = self._unread.startswith('"')
        try:
            return msgspec.json.decode(f'"{found[0]}"'.encode(), type=str)
        except (msgspec.DecodeError, UnicodeEncodeError):
            self._is_over = True
            return ""


def _code_of(given: JSON) -> str:
    """The code in the input of a code tool."""
    members = given if isinstance(given, dict) else {}
    operation = members.get("operation")
    patch = operation.get("diff") if isinstance(operation, dict) else None
    candidates = (members.get("code"), patch, *(members.get(name) for name in _CODE))
    return next((value for value in candidates if isinstance(value, str)), shown(given))


def _language_of(given: JSON) -> str:
    """The language of the code: Python, unless the input names one."""
    if not isinstance(given, dict):
        return "python"
    named = given.get("language")
    if isinstance(named, str) and named:
        return named.lower()
    return "diff" if "operation" in given and "code" not in given else "python"


def _command_of(given: JSON) -> str:
    """The commands in the input of a shell, each after a prompt."""
    members = given if isinstance(given, dict) else {}
    action = members.get("action")
    members = action if isinstance(action, dict) else members
    for name in ("command", "commands", "cmd", "code"):
        if lines := _lines(members.get(name), one_command=name != "commands"):
            return "\n".join(f"$ {line}" for line in lines)
    return f"$ {shown(given)}"


def _lines(value: JSON, *, one_command: bool) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return []
    return [" ".join(value)] if one_command and value else value


def _printed(value: JSON, depth: int = 0) -> str:
    """Printed output, from the forms in which tools return it."""
    if depth < _DEEPEST and isinstance(value, list):
        return _joined(_printed(each, depth + 1) for each in value)
    if depth < _DEEPEST and isinstance(value, dict) and (names := value.keys() & set(_PRINTED)):
        return _joined(_printed(value[name], depth + 1) for name in _PRINTED if name in names)
    return shown(value)


def _joined(texts: Iterable[str]) -> str:
    """The texts, each on its own lines."""
    filled = [text for text in texts if text]
    ended = [text if text.endswith("\n") else f"{text}\n" for text in filled[:-1]]
    return "".join([*ended, *filled[-1:]])


_INPUTS: Final[dict[ToolKind, Callable[[JSON], str]]] = {"code": _code_of, "shell": _command_of}
