"""What a person is asked, and what they said.

An approval is asked for where the response ends. Asked earlier and never answered, as in a
recording, it would leave the client with a message that it cannot send back; and on a replay only
version 7 can be told the answer. What a person may decide, and a decision that is more than yes or
no, no chunk of an approval can say: where the agent says what it allows, there is data beside it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mobox.events import InputRequest, InputResponse
from mobox.formatters.ai_sdk import data_parts
from mobox.formatters.ai_sdk.chunks import chunk
from mobox.formatters.ai_sdk.profiles import Profile
from mobox.formatters.ai_sdk.tools import Tools

__all__ = ["APPROVED", "Approvals"]

Chunks = list[bytes]

APPROVED: Final = {"approved": True, "edited": True, "denied": False}
"""What a decision says of the call; others say nothing: a request taken back denies nothing."""


class _Pending(NamedTuple):
    event: InputRequest
    approval: bool
    """It asks whether a call that waits may run."""


class Approvals:
    """Every request of the run that is not answered, by its id; asked again, the last counts."""

    def __init__(self, profile: Profile, tools: Tools) -> None:
        self._profile = profile
        self._tools = tools
        self._pending: dict[str | None, _Pending] = {}

    def ask(self, event: InputRequest) -> Chunks:
        """Somebody is asked."""
        approval = event.kind == "approval" and self._tools.waits(event.tool_call_id)
        self._pending[event.id] = pending = _Pending(event, approval)
        return [data_parts.request(event)] if self._has_data(pending) else []

    def answer(self, event: InputResponse) -> Chunks:
        """Somebody answered; too late, if the call has its result."""
        pending = self._pending.pop(event.id, None)
        if pending is None or (pending.approval and not self._waits(pending)):
            return []
        data = [data_parts.request(pending.event, event)] if self._has_data(pending) else []
        approved = APPROVED.get(event.decision)
        if approved is None or not self._is_held(pending) or not self._profile.answers:
            return data
        if not approved:
            self._tools.deny(pending.event.tool_call_id)
        answer = chunk(
            "tool-approval-response",
            approvalId=event.id,
            approved=approved,
            reason=event.words,
        )
        return [*data, self._request(pending.event), answer]

    def open(self) -> Chunks:
        """The response ends here: ask for what is not answered."""
        held = filter(self._is_held, self._pending.values())
        return [self._request(pending.event) for pending in held if self._waits(pending)]

    def _is_held(self, pending: _Pending) -> bool:
        """Whether it is told as an approval, later."""
        return pending.approval and self._profile.approvals

    def _has_data(self, pending: _Pending) -> bool:
        return not self._is_held(pending) or bool(pending.event.allowed)

    def _waits(self, pending: _Pending) -> bool:
        return self._tools.waits(pending.event.tool_call_id)

    def _request(self, event: InputRequest) -> bytes:
        why = event.prompt if self._profile.answers else None
        return chunk(
            "tool-approval-request", approvalId=event.id, toolCallId=event.tool_call_id, reason=why
        )
