"""The messages of the panes, and which of them are not complete.

Rule 1: a message is sent complete and replaces the message of its id; or, with `streaming`, it is
        appended to it.
Rule 2: a `pending` message is not complete yet; the last one sent of each id is `done`.
Rule 3: a message stays in the pane in which it started.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

import msgspec

from mobox.events import JSON, TodoItem, ToolKind

# Which pane something belongs to: derived from the kind of a tool, never stored.

Component = Literal["chat", "webide", "terminal"]

_CALLS: Final[dict[ToolKind, Component]] = {"code": "webide", "shell": "terminal"}
_RESULTS: Final[dict[ToolKind, Component]] = {"code": "terminal", "shell": "terminal"}


class Policy(NamedTuple):
    """The panes for content that belongs to no pane by its kind."""

    tools: Component
    """Calls that run neither code nor a shell, and their results."""
    errors: Component
    raw: bool
    """Whether unrecognized lines are shown; the inspector has them anyway."""

    def of_call(self, kind: ToolKind) -> Component:
        return _CALLS.get(kind, self.tools)

    def of_result(self, kind: ToolKind, failed: bool) -> Component:
        return self.errors if failed else _RESULTS.get(kind, self.tools)


POLICIES: Final = {
    "document": Policy(tools="terminal", errors="terminal", raw=True),
    "chat": Policy(tools="chat", errors="chat", raw=False),
}
DEFAULT: Final = "document"


Documents = list[bytes]
Status = Literal["pending", "done"]

encode: Final = msgspec.json.Encoder().encode


class Message:
    """One message and the content sent so far."""

    __slots__ = ("about", "head", "id", "pieces", "prefix")

    def __init__(self, head: dict[str, JSON], about: dict[str, JSON]) -> None:
        self.id: str = head["message_id"]
        self.head = head
        self.about = about
        self.pieces: list[str] = []
        self.prefix = self._until_content(streaming=True, status="pending")

    @property
    def content(self) -> str:
        self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0]

    @content.setter
    def content(self, text: str) -> None:
        self.pieces[:] = [text]

    def more(self, text: str, between: str = "") -> Documents:
        """A delta of it; `between` precedes every delta but the first."""
        if not text:
            return []
        text = between + text if between and self.content else text
        self.pieces.append(text)
        return [self.prefix + encode(text) + b"}"]

    def whole(self, status: Status, ts: int | None) -> bytes:
        """The complete message."""
        prefix = self._until_content(streaming=False, status=status, ts=ts)
        return prefix + encode(self.content) + b"}"

    def _until_content(self, *, streaming: bool, status: Status, ts: int | None = None) -> bytes:
        state = {"streaming": streaming, "is_final_answer": False, "status": status}
        metadata = {"component": None, **state, **self.about}  # `about` may override it
        time = {"timestamp": ts} if ts is not None else {}
        return encode({**self.head, **time, "metadata": metadata})[:-1] + b',"content":'


class Messages:
    """The messages of one run."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._count = 0
        self._pending: dict[str, Message] = {}
        self._by_block: dict[str, list[Message]] = {}
        self.step: int | None = None
        self.ts: int | None = None

    def new(
        self,
        component: Component,
        block: str | None = None,
        role: Literal["assistant", "user"] = "assistant",
        **about: JSON,
    ) -> Message:
        """Start a message of that block or call; fields without a value are left out."""
        self._count += 1
        head: dict[str, JSON] = {"message_id": f"{self._run_id}:{self._count}", "role": role}
        if self.step is not None:
            head["step_number"] = self.step
        known = {name: value for name, value in about.items() if value not in (None, ())}
        message = Message(head, {"component": component, **known})
        if block is not None:
            self._by_block.setdefault(block, []).append(message)
        return message

    def write(
        self,
        component: Component,
        content: str,
        block: str | None = None,
        role: Literal["assistant", "user"] = "assistant",
        **about: JSON,
    ) -> Documents:
        """A message that is complete at once."""
        message = self.new(component, block, role, **about)
        return self.done(message, content)

    def pending(self, message: Message, content: str | None = None) -> Documents:
        """Send the content so far of a message that is not complete."""
        self._pending[message.id] = message
        if content is not None:
            message.content = content
        return [message.whole("pending", self.ts)]

    def more(self, message: Message, text: str, between: str = "") -> Documents:
        """Send a delta of a message; `between` precedes every delta but the first."""
        if text:
            self._pending[message.id] = message
        return message.more(text, between)

    def done(self, message: Message, content: str | None = None) -> Documents:
        """Send the complete message."""
        self._pending.pop(message.id, None)
        if content is not None:
            message.content = content
        return [message.whole("done", self.ts)]

    def is_pending(self, message: Message) -> bool:
        return message.id in self._pending

    def close_all(self) -> Documents:
        """End all messages that are not complete."""
        pending = list(self._pending.values())
        return [document for message in pending for document in self.done(message)]

    def so_far(self) -> Documents:
        """The content so far of incomplete messages, for a client that joins."""
        return [message.whole("pending", self.ts) for message in self._pending.values()]

    def retract(self, block: str) -> Documents:
        """Retract all messages of a block or call."""
        documents: Documents = []
        for message in self._by_block.pop(block, []):
            message.about |= {"retracted": True}
            documents += self.done(message, "")
        return documents


# Extracts text for the panes from tools' inputs and outputs: code, commands, printed output.

_PRINTED: Final = ("stdout", "stderr", "logs", "output", "text")
"""Keys of results that hold printed output, in the order in which it is shown."""
_CODE: Final = (
    *("python_code", "source_code", "script", "source", "cell", "query", "command", "input"),
    "__arg1",
)
"""Other keys of a Python tool's input that may hold its code; LangChain's REPL uses `query`."""
_DEEPEST: Final = 16
_OPENING: Final = re.compile(r" {0,3}```(?:python|py)[0-9]?\b", re.IGNORECASE)
_CLOSING: Final = re.compile(r" {0,3}```\s*")
_BOXES: Final = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}


def shown(value: JSON) -> str:
    """A text as it is, any other value as JSON; an empty string for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else encode(value).decode()


def code_of(given: JSON) -> str:
    """The code in the input of a code tool."""
    members = given if isinstance(given, dict) else {}
    operation = members.get("operation")
    patch = operation.get("diff") if isinstance(operation, dict) else None
    candidates = (members.get("code"), patch, *(members.get(name) for name in _CODE))
    return next((value for value in candidates if isinstance(value, str)), shown(given))


def language_of(given: JSON) -> str:
    """The language of the code: Python, unless the input names one."""
    if not isinstance(given, dict):
        return "python"
    named = given.get("language")
    if isinstance(named, str) and named:
        return named.lower()
    return "diff" if "operation" in given and "code" not in given else "python"


def command_of(given: JSON) -> str:
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


def printed(value: JSON, depth: int = 0) -> str:
    """Printed output, from the forms in which tools return it."""
    if depth < _DEEPEST and isinstance(value, list):
        return _joined(printed(each, depth + 1) for each in value)
    if depth < _DEEPEST and isinstance(value, dict) and (names := value.keys() & set(_PRINTED)):
        return _joined(printed(value[name], depth + 1) for name in _PRINTED if name in names)
    return shown(value)


def _joined(texts: Iterable[str]) -> str:
    """The texts, each on its own lines."""
    filled = [text for text in texts if text]
    ended = [text if text.endswith("\n") else f"{text}\n" for text in filled[:-1]]
    return "".join([*ended, *filled[-1:]])


def fenced(text: str) -> Iterator[str]:
    """The Python code in a text: closed fences that are marked as Python."""
    code: list[str] | None = None
    for line in text.splitlines(keepends=True):
        if code is None:
            code = [] if _OPENING.match(line) else None
        elif _CLOSING.fullmatch(line):
            yield "".join(code)
            code = None
        else:
            code.append(line)


def checklist(items: Iterable[TodoItem]) -> str:
    """A plan as a list to tick off."""
    return "\n".join(f"- {_BOXES[item.status]} {item.content}" for item in items)
