"""The ids of a message's tool calls and input requests on the wire: `<message id>:<own id>`.

A chat has many runs, whose calls may have the same ids: agents are advised to use fixed ones. Some
clients look a call up by its id among all messages, so on the wire an id is unique in its chat.
"""

from __future__ import annotations

from collections.abc import Iterable


class WireIds:
    """The ids of one message; the message's id is the run's."""

    def __init__(self, message_id: str) -> None:
        self._prefix = f"{message_id}:"
        self._calls: set[str | None] = set()

    def start(self, call: str | None) -> str:
        """The id of a call that starts."""
        self._calls.add(call)
        return self.of(call)

    def of(self, own: str | None) -> str:
        """The id of a call or of a request."""
        return f"{self._prefix}{own}"

    def all_of(self, calls: Iterable[str]) -> list[str]:
        """The ids of calls, such as a scope."""
        return [self.of(call) for call in calls]

    def block(self, own: str) -> str:
        """The id of a block: a call that has started, or a text, which keeps its own id."""
        return self.of(own) if own in self._calls else own

    def own(self, wire: str) -> str:
        """The id without the message's, if it has that."""
        return wire.removeprefix(self._prefix)
