"""The messages of the panes, and which of them are not complete.

Rule 1: a message is sent complete and replaces the message of its id; or, with `streaming`, it is
        appended to it.
Rule 2: a `pending` message is not complete yet; the last one sent of each id is `done`.
Rule 3: a message stays in the pane in which it started.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from mobox.events import JSON, ToolKind

Component = Literal["chat", "webide", "terminal"]

_CALLS: Final[dict[ToolKind, Component]] = {"code": "webide", "shell": "terminal"}
_RESULTS: Final[dict[ToolKind, Component]] = {"code": "terminal", "shell": "terminal"}


class Policy(NamedTuple):
    """The panes: derived from the kind of a tool, never stored; these are for all other content."""

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

    __slots__ = ("about", "deltas", "head", "id", "prefix")

    def __init__(self, head: dict[str, JSON], about: dict[str, JSON]) -> None:
        self.id: str = head["message_id"]
        self.head = head
        self.about = about
        self.deltas: list[str] = []
        self.prefix = self._until_content(streaming=True, status="pending")

    @property
    def content(self) -> str:
        self.deltas[:] = ["".join(self.deltas)]
        return self.deltas[0]

    @content.setter
    def content(self, text: str) -> None:
        self.deltas[:] = [text]

    def more(self, text: str, between: str = "") -> Documents:
        """A delta of it; `between` precedes every delta but the first."""
        if not text:
            return []
        text = between + text if between and self.content else text
        self.deltas.append(text)
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


def shown(value: JSON) -> str:
    """A text as it is, any other value as JSON; an empty string for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else encode(value).decode()
