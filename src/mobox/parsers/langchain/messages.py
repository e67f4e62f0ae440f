"""The messages of a run: which are open, which have ended, and which are sent again.

Rule 1: if a message was interrupted and its node starts another, it is being sent again.
Rule 2: not all streams have the end of a message. An open one ends when its agent starts another
        in a later step of the graph; messages of one step may alternate.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from mobox.events import Events, Outcome, Retract, Scope
from mobox.names import Names
from mobox.parsers.langchain.message import Message

__all__ = ["Messages"]

_GIVEN_NAMES: Final = ("run-", "lc_run-")
"""Prefix of the ids that LangChain gives to messages."""


class Messages:
    """The messages of one run."""

    def __init__(self, names: Names) -> None:
        self.last: Message | None = None
        """The last message of the root."""
        self._names = names
        self._turns: Counter[Scope] = Counter()
        self._open: dict[str, Message] = {}  # the open messages, by each of their names
        self._over: set[str] = set()  # the names of ended messages and of the history
        self._broken: dict[tuple[Scope, str], tuple[str, ...]] = {}  # blocks by node

    @property
    def open(self) -> list[Message]:
        """The open messages."""
        return list(dict.fromkeys(self._open.values()))

    def find(self, name: str | None) -> Message | None:
        """The open message of that name."""
        return self._open.get(name or "")

    def is_over(self, name: str | None) -> bool:
        """Whether a message has ended, or is in the history."""
        return name in self._over

    def is_known(self, name: str | None) -> bool:
        """Whether a message has ended, or is open."""
        return name in self._over or name in self._open

    def know(self, name: str | None) -> None:
        """Mark the message of that name as ended."""
        self._over |= {name or ""} - {""}
        self._names.take(name)

    def begin(
        self,
        name: str | None,
        scope: Scope,
        vendor: str | None,
        model: str | None,
        node: str | None,
    ) -> tuple[Message, Events]:
        """A message starts; one that was interrupted in the same node is sent again with it."""
        before = self._retract(scope, node) if node is not None else []
        message = Message(self._names.unique(name, "message"), scope, vendor, model)
        message.node = node
        self._open[name or ""] = message
        self._turns[scope] += 1
        if not scope:
            self.last = message
        return message, [*before, message.begin(self._turns[scope])]

    def alias(self, name: str | None, scope: Scope, node: str | None) -> Message | None:
        """The open message that a provider's own id belongs to, after LangChain gave it another."""
        if not name or name.startswith(_GIVEN_NAMES) or name in self._over:
            return None
        for known, message in self._open.items():
            if (message.scope, message.node) == (scope, node) and known.startswith(_GIVEN_NAMES):
                self._open[name] = message
                self._names.take(name)
                return message
        return None

    def end(self, message: Message, status: Outcome = "ok") -> Events:
        """A message ends."""
        for name in [name for name, each in self._open.items() if each is message]:
            del self._open[name]
            self._over |= {name, message.id} - {""}
        return message.end(status)

    def fail(self, message: Message) -> Events:
        """A message is interrupted by an error; its node may retry."""
        if message.node is not None:
            self._broken[message.scope, message.node] = message.block_ids
        return self.end(message, "error")

    def rest(self, scope: Scope, step: int | None) -> Events:
        """Another message of an agent starts: end its open messages of earlier steps."""
        left = [m for m in self.open if m.scope == scope and (step is None or m.step != step)]
        return [event for message in left for event in self.end(message)]

    def _retract(self, scope: Scope, node: str) -> Events:
        left = [m for m in self.open if (m.scope, m.node) == (scope, node) and m.broke_off]
        blocks = self._broken.pop((scope, node), ())
        blocks += tuple(name for message in left for name in message.block_ids)
        ends = [event for message in left for event in self.end(message, "interrupted")]
        return [*ends, Retract(scope=scope, blocks=blocks, reason="retry")] if blocks else ends
