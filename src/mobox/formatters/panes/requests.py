"""Input requests: a message in the chat that stays pending until the answer."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, InputRequest, InputResponse
from mobox.formatters.fields import known
from mobox.formatters.panes.messages import Documents, Message, Messages

__all__ = ["Requests"]

_WORDS: Final = {
    "approval": "Allow this action?",
    "question": "A question",
    "input": "Input is needed",
    "auth": "Please sign in",
    "tool": "A tool of the page is called",
}


class Requests:
    """The requests without an answer."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._open: dict[str | None, Message] = {}

    def ask(self, event: InputRequest) -> Documents:
        """Send a request; an answer must name its `request.id`."""
        request: dict[str, JSON] = {
            "id": event.id,
            "kind": event.kind,
            "tool_id": event.tool_call_id,
            "schema": event.schema,
            "options": event.options,
            "allowed": list(event.allowed) or None,
        }
        again = self._messages.done(self._open[event.id]) if event.id in self._open else []
        message = self._messages.new(
            "chat", scope=event.scope, title="❓ Asked", request=known(request)
        )
        self._open[event.id] = message
        return again + self._messages.pending(message, event.prompt or _WORDS[event.kind])

    def answer(self, event: InputResponse) -> Documents:
        """Send the answer."""
        message = self._open.pop(event.id, None)
        if message is None:
            return []
        has_value = event.decision in ("edited", "answered")
        message.about |= known(
            {
                "decision": event.decision,
                "value": event.value if has_value else None,
                "reason": event.words,
            }
        )
        return self._messages.done(message)
