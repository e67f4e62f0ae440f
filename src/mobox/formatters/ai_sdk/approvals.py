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


class _Asked(NamedTuple):
    event: InputRequest
    approval: bool
    """It asks whether a call that waits may run."""


class Approvals:
    """Every request of the run that is not answered, by its id; asked again, the last counts."""

    def __init__(self, profile: Profile, tools: Tools) -> None:
        self._profile = profile
        self._tools = tools
        self._asked: dict[str | None, _Asked] = {}

    def ask(self, event: InputRequest) -> Chunks:
        """Somebody is asked."""
        approval = event.kind == "approval" and self._tools.waits(event.tool_call_id)
        self._asked[event.id] = asked = _Asked(event, approval)
        return [data_parts.request(event)] if self._has_data(asked) else []

    def answer(self, event: InputResponse) -> Chunks:
        """Somebody answered; too late, if the call has its result."""
        asked = self._asked.pop(event.id, None)
        if asked is None or (asked.approval and not self._waits(asked)):
            return []
        data = [data_parts.request(asked.event, event)] if self._has_data(asked) else []
        approved = APPROVED.get(event.decision)
        if approved is None or not self._is_held(asked) or not self._profile.answers:
            return data
        if not approved:
            self._tools.deny(asked.event.tool_call_id)
        answer = chunk(
            "tool-approval-response",
            approvalId=event.id,
            approved=approved,
            reason=event.words,
        )
        return [*data, self._request(asked.event), answer]

    def open(self) -> Chunks:
        """The response ends here: ask for what is not answered."""
        held = filter(self._is_held, self._asked.values())
        return [self._request(asked.event) for asked in held if self._waits(asked)]

    def _is_held(self, asked: _Asked) -> bool:
        """Whether it is told as an approval, later."""
        return asked.approval and self._profile.approvals

    def _has_data(self, asked: _Asked) -> bool:
        return not self._is_held(asked) or bool(asked.event.allowed)

    def _waits(self, asked: _Asked) -> bool:
        return self._tools.waits(asked.event.tool_call_id)

    def _request(self, event: InputRequest) -> bytes:
        why = event.prompt if self._profile.answers else None
        return chunk(
            "tool-approval-request", approvalId=event.id, toolCallId=event.tool_call_id, reason=why
        )
