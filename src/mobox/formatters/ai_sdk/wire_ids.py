"""The ids of a message's tool calls and input requests on the wire: `<message id>:<own id>`.

A chat has many runs, whose calls may have the same ids: agents are advised to use fixed ones. Some
clients look a call up by its id among all messages, so on the wire an id is unique in its chat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

ASK_USER: Final = "ask_user"
"""The tool whose calls ask a person."""
_ASK: Final = re.compile("@ask[0-9]*:(.*)", re.DOTALL)


class WireIds:
    """The ids of one message; the message's id is the run's."""

    def __init__(self, message_id: str) -> None:
        self._prefix = f"{message_id}:"
        self._calls: set[str | None] = set()
        self._asks: Counter[str | None] = Counter()

    def start(self, call: str | None) -> str:
        """The id of a call that starts."""
        self._calls.add(call)
        return self.of(call)

    def has_started(self, call: str | None) -> bool:
        """Whether the message has that call."""
        return call in self._calls

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

    # Calls that ask a person: a request may have the id of a call, and may be made again

    def next_ask(self, request: str | None) -> str:
        """The id of the next call that makes a request."""
        self._asks[request] += 1
        number = self._asks[request]
        return self.of(f"@ask{number if number > 1 else ''}:{request}")

    def asked(self, wire: str) -> str | None:
        """The request that such a call makes; none if it is another call."""
        found = _ASK.fullmatch(self.own(wire))
        return found[1] if found is not None else None

    def request(self, wire: str) -> str:
        """The own id of a request, from its id or from that of the call that makes it."""
        asked = self.asked(wire)
        return asked if asked is not None else self.own(wire)
