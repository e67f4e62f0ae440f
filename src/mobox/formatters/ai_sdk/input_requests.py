"""The input requests of one message, as the parts that its client can show and answer.

Rule 1: an approval of a call is the approval of that call's part, where the client has such chunks.
Rule 2: a tool that the page runs is shown by its call.
Rule 3: any other request is a call of the tool `ask_user`, which every client shows and answers as
        it does a tool of the page. In the profile of our own page it is a data part.
Rule 4: a request that is made again is another call of `ask_user`: clients look only at the last
        step when they decide whether to send an answer. An earlier one without an answer ends.
"""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, InputRequest, InputResponse
from mobox.events.message import RequestPart
from mobox.formatters.ai_sdk.chunks import Chunks, Profile, chunk, request_about, request_chunk
from mobox.formatters.ai_sdk.parts import Steps, Tools, tool_metadata
from mobox.formatters.ai_sdk.wire_ids import ASK_USER, WireIds
from mobox.formatters.values import without_none

APPROVED: Final = {"approved": True, "edited": True, "denied": False}
"""Decisions that approve or deny the call; others do neither, such as a cancelled request."""

_ASKED_AGAIN: Final = "The request was made again."
_NO_ANSWERS: Final = {
    "denied": "The request was denied.",
    "cancelled": "The request was cancelled.",
}


def is_held(part: RequestPart, profile: Profile) -> bool:
    """Whether it is sent as an approval, at the end of the response."""
    return part.approval and profile.approvals


def has_data_part(part: RequestPart, profile: Profile) -> bool:
    """Whether it has a data part: an approval that lists what it allows, or no call of a tool."""
    return part.has_part if is_held(part, profile) else not profile.asks


def has_ask_part(part: RequestPart, profile: Profile, ids: WireIds) -> bool:
    """Whether it is a call of `ask_user`."""
    request = part.request
    is_shown_by_call = request.kind == "tool" and ids.has_started(request.tool_call_id)
    return profile.asks and not is_held(part, profile) and not is_shown_by_call


def ask_metadata(request: InputRequest, ids: WireIds) -> dict[str, JSON] | None:
    """The metadata of a call of `ask_user`: the agent that asks."""
    return tool_metadata("function", None, ids.all_of(request.scope))


def ask_result(part: RequestPart, response: InputResponse | None) -> dict[str, JSON] | None:
    """The `output` or the `errorText` of a call of `ask_user`; none while it waits.

    A decision about an approval is `{"approved", "reason"}`, as clients may send it.
    """
    if response is None:
        return {"errorText": _ASKED_AGAIN} if part.replaced else None
    if response.decision == "answered":
        return {"output": response.value}
    approved = APPROVED.get(response.decision)
    if approved or (approved is False and part.request.kind == "approval"):
        value = response.value if response.decision == "edited" else None
        about = {"approved": approved, "input": value, "reason": response.comment}
        return {"output": without_none(about)}
    return {"errorText": response.comment or _NO_ANSWERS[response.decision]}


class Requests:
    """All requests of the run without an answer, by id; a repeated one replaces the earlier.

    An approval is requested where the response ends. Sent earlier and never answered, as in a
    recording, it would leave the client with a message that it cannot send back; and on a replay
    only version 7 can receive the answer. Approval chunks have no field for the allowed decisions,
    nor for decisions other than yes and no: if the agent lists what it allows, a data part carries
    them.
    """

    def __init__(self, profile: Profile, tools: Tools, steps: Steps, ids: WireIds) -> None:
        self._profile = profile
        self._tools = tools
        self._steps = steps
        self._ids = ids
        self._open: dict[str | None, RequestPart] = {}
        self._calls: dict[str | None, str] = {}  # the open calls of `ask_user`, by request

    def request(self, event: InputRequest) -> Chunks:
        """Add a request."""
        approval = event.kind == "approval" and self._tools.waits(event.tool_call_id)
        before = self._open.get(event.id)
        self._open[event.id] = part = RequestPart(request=event, approval=approval)
        if part.has_part:
            self._steps.keep()
        ended: Chunks = []
        if before is not None:
            before.replaced = True
            ended = self._end_call(before)
        return [*ended, *self._data(part), *self._call(part)]

    def answer(self, event: InputResponse) -> Chunks:
        """Handle an answer; it is too late if the call has its result."""
        part = self._open.pop(event.id, None)
        if part is None or (part.approval and not self._waits(part)):
            self._calls.pop(event.id, None)
            return []
        shown = [*self._data(part, event), *self._end_call(part, event)]
        approved = APPROVED.get(event.decision)
        if approved is None or not is_held(part, self._profile) or not self._profile.answers:
            return shown
        if not approved:
            self._tools.deny(part.request.tool_call_id)
        answer = chunk(
            "tool-approval-response",
            approvalId=self._ids.of(event.id),
            approved=approved,
            reason=event.comment,
        )
        return [*shown, self._approval(part.request, event.automatic), answer]

    def pending(self) -> Chunks:
        """The response ends here: send the approvals without an answer."""
        held = [part for part in self._open.values() if is_held(part, self._profile)]
        return [self._approval(part.request) for part in held if self._waits(part)]

    def _data(self, part: RequestPart, answer: InputResponse | None = None) -> Chunks:
        if not has_data_part(part, self._profile):
            return []
        return [request_chunk(part.request, self._ids, answer)]

    def _call(self, part: RequestPart) -> Chunks:
        request = part.request
        if not has_ask_part(part, self._profile, self._ids):
            return []
        self._steps.add_ask()
        self._calls[request.id] = call = self._ids.next_ask(request.id)
        start = chunk(
            "tool-input-available",
            {"input": request_about(request, self._ids)},
            toolCallId=call,
            toolName=ASK_USER,
            providerMetadata=ask_metadata(request, self._ids),
        )
        return [start]

    def _end_call(self, part: RequestPart, answer: InputResponse | None = None) -> Chunks:
        call = self._calls.pop(part.request.id, None)
        result = ask_result(part, answer)
        if call is None or result is None:
            return []
        kind = "tool-output-available" if "output" in result else "tool-output-error"
        return [chunk(kind, result, toolCallId=call)]

    def _waits(self, part: RequestPart) -> bool:
        return self._tools.waits(part.request.tool_call_id)

    def _approval(self, event: InputRequest, is_automatic: bool = False) -> bytes:
        return chunk(
            "tool-approval-request",
            approvalId=self._ids.of(event.id),
            toolCallId=self._ids.of(event.tool_call_id),
            isAutomatic=is_automatic or None,
            reason=event.prompt if self._profile.answers else None,
        )
