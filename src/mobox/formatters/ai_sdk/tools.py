"""The tool calls of one message, as dynamic tool parts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    InputRequest,
    InputResponse,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters.ai_sdk import data_parts
from mobox.formatters.ai_sdk.chunks import Profile, chunk, delta_prefix, encode
from mobox.formatters.values import FAILED, error_text, without_none

Chunks = list[bytes]

INVALID_INPUT = "The input of this call is not valid JSON."


class _Call:
    """Fields of a call's start that later chunks repeat."""

    __slots__ = ("answered", "common", "invalid", "metadata", "name", "prefix", "waits")

    def __init__(self, start: ToolUseStart) -> None:
        self.name = start.name
        # `dynamic` must be the same on every chunk: else the client makes two parts of one call.
        self.common: dict[str, JSON] = {"toolCallId": start.id, "dynamic": True}
        if start.server:
            self.common["providerExecuted"] = True
        self.metadata = tool_metadata(start.kind, start.display, start.scope)
        assert start.id is not None  # the lifecycle names every call
        self.prefix = delta_prefix("tool-input-delta", "toolCallId", start.id, "inputTextDelta")
        self.invalid = False
        self.waits = False  # it has its input and no result
        self.answered = False  # it has at least a partial result

    def input(self, kind: str, value: JSON, **more: JSON) -> bytes:
        return chunk(
            kind,
            payload={"input": value},
            toolName=self.name,
            providerMetadata=self.metadata,
            **self.common,
            **more,
        )


def tool_metadata(kind: str, display: str | None, scope: tuple[str, ...]) -> dict[str, JSON] | None:
    """Metadata of a call that the client has no field for; none for a plain function."""
    about = {
        "kind": kind if kind != "function" else None,
        "display": display,
        "scope": list(scope) or None,
    }
    return {"mobox": without_none(about)} if without_none(about) else None


class Tools:
    """Every call of the run so far."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._calls: dict[str | None, _Call] = {}
        self._streaming: set[str | None] = set()
        self._denied: set[str | None] = set()
        self._forgotten: set[str | None] = set()

    @property
    def streaming(self) -> bool:
        """Whether an input is being streamed; a new step would split its call in two."""
        return bool(self._streaming)

    def waits(self, name: str | None) -> bool:
        """Whether the call has its input and no result: only then can it be approved."""
        return name in self._calls and self._calls[name].waits

    def deny(self, name: str | None) -> None:
        """Mark a call as denied at the client."""
        self._denied.add(name)

    def forget(self, names: Collection[str]) -> None:
        """These calls were retracted: the client has no part left for their results."""
        for name in names:
            if self._calls.pop(name, None) is not None:
                self._forgotten.add(name)

    def before(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> Chunks:
        """A missing start of a call or end of its input: RAW if a later version logged it."""
        if event.id in self._forgotten:
            return []
        chunks: Chunks = []
        if event.id not in self._calls:
            chunks += self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        if isinstance(event, ToolResult) and event.id in self._streaming:
            chunks += self.end(ToolUseEnd(id=event.id))
        return chunks

    def start(self, event: ToolUseStart) -> Chunks:
        call = self._calls[event.id] = _Call(event)
        self._streaming.add(event.id)
        early = call.metadata if self._profile.early_tool_metadata else None
        start = chunk("tool-input-start", toolName=call.name, providerMetadata=early, **call.common)
        return [start]

    def more(self, event: ToolUseDelta) -> Chunks:
        return [self.prefix_of(event) + encode(event.delta) + b"}"]

    def prefix_of(self, event: ToolUseDelta) -> bytes:
        """The prefix of the chunk for an input delta."""
        return self._calls[event.id].prefix

    def end(self, event: ToolUseEnd) -> Chunks:
        call = self._calls[event.id]
        self._streaming.discard(event.id)
        call.invalid = event.invalid is not None
        call.waits = not call.invalid
        if event.invalid is not None:
            return [call.input("tool-input-error", event.invalid, errorText=INVALID_INPUT)]
        return [call.input("tool-input-available", {} if event.input is None else event.input)]

    def result(self, event: ToolResult) -> Chunks:
        call = self._calls.get(event.id)
        if call is None:
            return []
        before, call.answered, call.waits = call.answered, True, False
        if event.id in self._denied:  # the client accepts no other result for such a call
            return [chunk("tool-output-denied", toolCallId=event.id)]
        if event.status == "interrupted" and call.invalid:
            # The client ended this call at its invalid input, unless it received a partial result.
            error = chunk("tool-output-error", errorText=INVALID_INPUT, **call.common)
            return [error] if before else []
        if event.status in FAILED:
            return [chunk("tool-output-error", errorText=error_text(event), **call.common)]
        return [
            chunk(
                "tool-output-available",
                payload={"output": event.output},
                preliminary=event.partial or None,
                **call.common,
            )
        ]


# Input requests and their answers.
#
# An approval is requested where the response ends. Sent earlier and never answered, as in a
# recording, it would leave the client with a message that it cannot send back; and on a replay only
# version 7 can receive the answer. Approval chunks have no field for the allowed decisions, nor for
# decisions other than yes and no: if the agent lists what it allows, a data part carries them.

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

    def request(self, event: InputRequest) -> Chunks:
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
            reason=event.comment,
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
