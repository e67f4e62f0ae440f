"""The parts of one message while they change: texts, tool calls, input requests and the step."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec
from msgspec import Struct, field

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    InputRequest,
    InputResponse,
    StreamEvent,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.message import RequestPart
from mobox.formatters.ai_sdk.chunks import (
    Chunks,
    Profile,
    chunk,
    delta_prefix,
    encode,
    request_chunk,
    vendors,
)
from mobox.formatters.ai_sdk.wire_ids import WireIds
from mobox.formatters.values import FAILED_OUTCOMES, call_error, without_none


class _Part:
    """One open part; `kind` is the first half of its chunks' names."""

    __slots__ = ("delta_class", "empty", "id", "kind", "mobox", "prefix", "started")

    def __init__(
        self, kind: str, delta_class: type[StreamEvent], mobox: dict[str, JSON], ts: int | None
    ) -> None:
        self.kind = kind
        self.id: str = mobox["id"]
        self.mobox = mobox
        self.delta_class = delta_class
        self.prefix = delta_prefix(f"{kind}-delta", "id", self.id, "delta")
        self.started = ts
        self.empty = True

    def start(self) -> bytes:
        metadata = {"mobox": self.mobox}
        return chunk(f"{self.kind}-start", id=self.id, providerMetadata=metadata)


class Parts:
    """The open text and reasoning parts of one message."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Part] = {}
        self.find = self._open.get
        """The open part of that id; `None` if there is none."""

    def __contains__(self, block_id: str | None) -> bool:
        return block_id in self._open

    def __bool__(self) -> bool:
        return bool(self._open)

    def open(
        self, kind: str, delta_class: type[StreamEvent], mobox: dict[str, JSON], ts: int | None
    ) -> Chunks:
        """Open the part that `mobox` names; deltas of the type `delta_class` continue it."""
        part = _Part(kind, delta_class, mobox, ts)
        self._open[part.id] = part
        return [part.start()]

    def write(self, block_id: str | None, text: str, between: str = "") -> Chunks:
        """A delta of an open part; `between` precedes every delta but the first."""
        if not text:
            return []
        part = self._open[block_id]
        text = text if part.empty else between + text
        part.empty = False
        return [part.prefix + encode(text) + b"}"]

    def close(
        self, block_id: str | None, ts: int | None, provider: dict[str, JSON] | None = None
    ) -> Chunks:
        """End a part, with its duration and the vendor's state."""
        part = self._open.pop(block_id)
        if part.kind == "text":
            return [chunk("text-end", id=part.id)]
        metadata: dict[str, JSON] = {"mobox": part.mobox}
        if ts is not None and part.started is not None:
            metadata["mobox"] = {**part.mobox, "durationMs": ts - part.started}
        return [chunk("reasoning-end", id=part.id, providerMetadata=vendors(provider) | metadata)]

    def close_all(self, ts: int | None) -> Chunks:
        """End all open parts, in the order in which they were opened."""
        return [end for block_id in list(self._open) for end in self.close(block_id, ts)]

    def reopen(self) -> Chunks:
        """The starts of all open parts, for a response that starts here."""
        return [part.start() for part in self._open.values()]


INVALID_INPUT = "The input of this call is not valid JSON."


class _Call:
    """Fields of a call's start that later chunks repeat."""

    __slots__ = ("answered", "common", "invalid", "metadata", "name", "prefix", "waits")

    def __init__(self, start: ToolUseStart, ids: WireIds) -> None:
        self.name = start.name
        wire = ids.start(start.id)
        # `dynamic` must be the same on every chunk: else the client makes two parts of one call.
        self.common: dict[str, JSON] = {"toolCallId": wire, "dynamic": True}
        if start.server:
            self.common["providerExecuted"] = True
        self.metadata = tool_metadata(start.kind, start.display, ids.all_of(start.scope))
        self.prefix = delta_prefix("tool-input-delta", "toolCallId", wire, "inputTextDelta")
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


def tool_metadata(kind: str, display: str | None, scope: list[str]) -> dict[str, JSON] | None:
    """Metadata of a call that the client has no field for; none for a plain function."""
    about = {
        "kind": kind if kind != "function" else None,
        "display": display,
        "scope": scope or None,
    }
    return {"mobox": without_none(about)} if without_none(about) else None


class Tools:
    """Every call of the run so far."""

    def __init__(self, profile: Profile, ids: WireIds) -> None:
        self._profile = profile
        self._ids = ids
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

    def start(self, event: ToolUseStart) -> Chunks:
        call = self._calls[event.id] = _Call(event, self._ids)
        self._streaming.add(event.id)
        early = call.metadata if self._profile.early_tool_metadata else None
        start = chunk("tool-input-start", toolName=call.name, providerMetadata=early, **call.common)
        return [start]

    def more(self, event: ToolUseDelta) -> Chunks:
        return [*self._before(event), self.prefix_of(event) + encode(event.delta) + b"}"]

    def prefix_of(self, event: ToolUseDelta) -> bytes:
        """The prefix of the chunk for an input delta."""
        return self._calls[event.id].prefix

    def end(self, event: ToolUseEnd) -> Chunks:
        before = self._before(event)
        call = self._calls[event.id]
        self._streaming.discard(event.id)
        call.invalid = event.invalid is not None
        call.waits = not call.invalid
        if event.invalid is not None:
            return [*before, call.input("tool-input-error", event.invalid, errorText=INVALID_INPUT)]
        value = {} if event.input is None else event.input
        return [*before, call.input("tool-input-available", value)]

    def result(self, event: ToolResult) -> Chunks:
        before = self._before(event)
        call = self._calls.get(event.id)
        if call is None:
            return []
        had_result, call.answered, call.waits = call.answered, True, False
        if event.id in self._denied:  # the client accepts no other result for such a call
            return [*before, chunk("tool-output-denied", toolCallId=self._ids.of(event.id))]
        if event.status == "interrupted" and call.invalid:
            # The client ended this call at its invalid input, unless it received a partial result.
            error = chunk("tool-output-error", errorText=INVALID_INPUT, **call.common)
            return [*before, error] if had_result else before
        if event.status in FAILED_OUTCOMES:
            error = chunk("tool-output-error", errorText=call_error(event), **call.common)
            return [*before, error]
        output, preliminary = {"output": event.output}, event.partial or None
        result = chunk("tool-output-available", output, preliminary=preliminary, **call.common)
        return [*before, result]

    def _before(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> Chunks:
        """A missing start of a call or end of its input: RAW if a later version logged it."""
        if event.id in self._forgotten:
            return []
        chunks: Chunks = []
        if event.id not in self._calls:
            chunks += self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        if isinstance(event, ToolResult) and event.id in self._streaming:
            chunks += self.end(ToolUseEnd(id=event.id))
        return chunks


APPROVED: Final = {"approved": True, "edited": True, "denied": False}
"""Decisions that approve or deny the call; others do neither, such as a cancelled request."""


def is_held(part: RequestPart, profile: Profile) -> bool:
    """Whether it is sent as an approval, at the end of the response."""
    return part.approval and profile.approvals


def has_data_part(part: RequestPart, profile: Profile) -> bool:
    """Whether it has a data part: it is no approval, or lists the decisions that it allows."""
    return not is_held(part, profile) or part.has_part


class Approvals:
    """All requests of the run without an answer, by id; a repeated one replaces the earlier.

    An approval is requested where the response ends. Sent earlier and never answered, as in a
    recording, it would leave the client with a message that it cannot send back; and on a replay
    only version 7 can receive the answer. Approval chunks have no field for the allowed decisions,
    nor for decisions other than yes and no: if the agent lists what it allows, a data part carries
    them.
    """

    def __init__(self, profile: Profile, tools: Tools, ids: WireIds) -> None:
        self._profile = profile
        self._tools = tools
        self._ids = ids
        self._open: dict[str | None, RequestPart] = {}

    def request(self, event: InputRequest) -> Chunks:
        """Add a request."""
        approval = event.kind == "approval" and self._tools.waits(event.tool_call_id)
        self._open[event.id] = part = RequestPart(request=event, approval=approval)
        return self._data(part)

    def answer(self, event: InputResponse) -> Chunks:
        """Handle an answer; it is too late if the call has its result."""
        part = self._open.pop(event.id, None)
        if part is None or (part.approval and not self._waits(part)):
            return []
        data = self._data(part, event)
        approved = APPROVED.get(event.decision)
        if approved is None or not is_held(part, self._profile) or not self._profile.answers:
            return data
        if not approved:
            self._tools.deny(part.request.tool_call_id)
        answer = chunk(
            "tool-approval-response",
            approvalId=self._ids.of(event.id),
            approved=approved,
            reason=event.comment,
        )
        return [*data, self._approval(part.request), answer]

    def pending(self) -> Chunks:
        """The response ends here: send the approvals without an answer."""
        held = [part for part in self._open.values() if is_held(part, self._profile)]
        return [self._approval(part.request) for part in held if self._waits(part)]

    def _data(self, part: RequestPart, answer: InputResponse | None = None) -> Chunks:
        if not has_data_part(part, self._profile):
            return []
        return [request_chunk(part.request, self._ids, answer)]

    def _waits(self, part: RequestPart) -> bool:
        return self._tools.waits(part.request.tool_call_id)

    def _approval(self, event: InputRequest) -> bytes:
        return chunk(
            "tool-approval-request",
            approvalId=self._ids.of(event.id),
            toolCallId=self._ids.of(event.tool_call_id),
            reason=event.prompt if self._profile.answers else None,
        )


class _Chunk(Struct):
    type: str
    id: str | None = None
    call: str | None = field(default=None, name="toolCallId")
    transient: bool = False
    by_provider: bool = field(default=False, name="providerExecuted")


_decode = msgspec.json.Decoder(_Chunk).decode
_BLOCKS = {"text-start", "reasoning-start", "tool-input-start"}
_OTHERS = {"source-url", "source-document", "file"}
_ADDING = tuple(f'{{"type":"{kind}'.encode() for kind in (*_BLOCKS, *_OTHERS, "data-"))
"""Prefixes of chunks that may add a part: the type comes first."""


class Steps:
    """The open turn of the root agent, and the parts that a `reset-step` would remove."""

    def __init__(self, ids: WireIds) -> None:
        self.open = False
        self._ids = ids
        self._added: set[str | None] = {None}  # before the first step nothing can be retracted
        self._data: set[tuple[str, str]] = set()
        self._has_calls = False

    def start(self) -> Chunks:
        """Start another turn and end the one before it. An empty turn continues instead."""
        if self.open and not self._added:
            return []
        chunks = [*self.finish(), chunk("start-step")]
        self.open = True
        self._added, self._has_calls = set(), False
        return chunks

    def finish(self) -> Chunks:
        """The turn ends, if one is open."""
        if not self.open:
            return []
        self.open = False
        return [chunk("finish-step")]

    def close(self) -> Chunks:
        """The run ends. A step with calls is followed by an empty one.

        `lastAssistantMessageIsCompleteWithToolCalls` is true for a message whose last step has
        calls with results: the client would send the finished message again.
        """
        return [*(self.start() if self._has_calls else ()), *self.finish()]

    def reset(self) -> Chunks:
        """Retract the parts of this step."""
        self._added, self._has_calls = set(), False
        return [chunk("reset-step")]

    def is_made_of(self, blocks: Collection[str]) -> bool:
        """Whether these blocks are all that the step has added, so that it can be reset."""
        return bool(self._added) and self._added <= set(blocks)

    def record(self, chunks: Chunks) -> None:
        """Remember the parts that these chunks add at the client: blocks by id."""
        for document in chunks:
            if not document.startswith(_ADDING):
                continue
            added = _decode(document)
            if added.type in _BLOCKS:
                self._has_calls |= added.call is not None and not added.by_provider
                self._added.add(self._ids.own(added.call) if added.call else added.id)
            elif added.type in _OTHERS or self._is_new_data(added):
                self._added.add(None)

    def _is_new_data(self, added: _Chunk) -> bool:
        if not added.type.startswith("data-") or added.transient:
            return False
        key = (added.type, added.id or "")
        is_new = added.id is None or key not in self._data
        self._data.add(key)
        return is_new
