"""Input requests and their answers.

An approval is requested where the response ends. Sent earlier and never answered, as in a
recording, it would leave the client with a message that it cannot send back; and on a replay only
version 7 can receive the answer. Approval chunks have no field for the allowed decisions, nor for
decisions other than yes and no: if the agent lists what it allows, a data part carries them.
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
"""Decisions that approve or deny the call; others do neither, such as a cancelled request."""


class _Pending(NamedTuple):
    event: InputRequest
    approval: bool
    """It is the approval of a pending call."""


class Approvals:
    """All requests of the run without an answer, by id; a repeated one replaces the earlier."""

    def __init__(self, profile: Profile, tools: Tools) -> None:
        self._profile = profile
        self._tools = tools
        self._pending: dict[str | None, _Pending] = {}

    def ask(self, event: InputRequest) -> Chunks:
        """Add a request."""
        approval = event.kind == "approval" and self._tools.waits(event.tool_call_id)
        self._pending[event.id] = pending = _Pending(event, approval)
        return [data_parts.request(event)] if self._has_data(pending) else []

    def answer(self, event: InputResponse) -> Chunks:
        """Handle an answer; it is too late if the call has its result."""
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
        """The response ends here: send the approvals without an answer."""
        held = filter(self._is_held, self._pending.values())
        return [self._request(pending.event) for pending in held if self._waits(pending)]

    def _is_held(self, pending: _Pending) -> bool:
        """Whether it is sent as an approval, at the end of the response."""
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
