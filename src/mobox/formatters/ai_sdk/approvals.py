"""What a person is asked, and what they said.

An approval is asked for where the response ends. Asked earlier and never answered, as in a
recording, it would leave the client with a message that it cannot send back; and on a replay only
version 7 can be told the answer.
"""

from __future__ import annotations

from typing import Final

from mobox.events import InputRequest, InputResponse
from mobox.formatters.ai_sdk import data_parts
from mobox.formatters.ai_sdk.chunks import chunk
from mobox.formatters.ai_sdk.profiles import Profile
from mobox.formatters.ai_sdk.tools import Tools

__all__ = ["APPROVED", "Approvals"]

Chunks = list[bytes]

APPROVED: Final = {"approved": True, "denied": False}
"""What a decision says of the call; others say nothing: a request taken back denies nothing."""


class Approvals:
    """Every request of the run so far."""

    def __init__(self, profile: Profile, tools: Tools) -> None:
        self._profile = profile
        self._tools = tools
        self._asked: dict[str | None, InputRequest] = {}  # as data parts
        self._held: dict[str | None, InputRequest] = {}  # as approvals, to be told later

    def ask(self, event: InputRequest) -> Chunks:
        """Somebody is asked; who is asked again under an id, answers the last."""
        self._asked.pop(event.id, None)
        self._held.pop(event.id, None)
        waits = event.kind == "approval" and self._tools.waits(event.tool_call_id)
        if self._profile.approvals and waits:
            self._held[event.id] = event
            return []
        self._asked[event.id] = event
        return [data_parts.request(event)]

    def answer(self, event: InputResponse) -> Chunks:
        """Somebody answered."""
        if event.id in self._asked:
            return [data_parts.request(self._asked[event.id], event)]
        held = self._held.pop(event.id, None)
        if held is None or not self._profile.answers or not self._tools.waits(held.tool_call_id):
            return []
        approved = APPROVED.get(event.decision)
        if approved is None:
            return []
        if not approved:
            self._tools.deny(held.tool_call_id)
        answer = chunk("tool-approval-response", approvalId=event.id, approved=approved)
        return [_request(held), answer]

    def open(self) -> Chunks:
        """The response ends here: ask for what is not answered."""
        held = self._held.values()
        return [_request(event) for event in held if self._tools.waits(event.tool_call_id)]


def _request(event: InputRequest) -> bytes:
    return chunk("tool-approval-request", approvalId=event.id, toolCallId=event.tool_call_id)
