"""The tool calls of one run: each is an assistant message of its own, its result the next one."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters.ag_ui.arguments import arguments_text, completion, is_same
from mobox.formatters.ag_ui.blocks import encrypted
from mobox.formatters.ag_ui.documents import (
    Documents,
    custom,
    delta_prefix,
    encode,
    event,
    mobox_metadata,
)
from mobox.formatters.ag_ui.ids import WireIds
from mobox.formatters.ag_ui.profiles import Profile
from mobox.formatters.ag_ui.results import result_content, result_metadata

__all__ = ["Corrections", "Tools", "tool_metadata"]


class Corrections(NamedTuple):
    """The documents to send, and whether they correct earlier ones, which needs a snapshot."""

    documents: Documents
    corrects: bool = False


class _Call:
    """State of a call for its later events."""

    __slots__ = ("answered", "message", "owner", "prefix", "start", "streams", "wire")

    def __init__(self, start: ToolUseStart, ids: WireIds) -> None:
        self.start = start
        self.wire = ids.of(start.id)
        self.message = ids.next_message(start.id)
        self.owner = ids.owner(start.scope)
        self.prefix = delta_prefix("TOOL_CALL_ARGS", "toolCallId", self.wire)
        self.streams = True  # its input is not complete
        self.answered = False

    def begin(self) -> bytes:
        return event(
            "TOOL_CALL_START",
            toolCallId=self.wire,
            toolCallName=self.start.name,
            # Without one, the client uses the call's id for the message.
            parentMessageId=self.message if self.message != self.wire else None,
            subagentRunId=self.owner,
            metadata=self._metadata(),
        )

    def end(self, invalid: str | None = None) -> bytes:
        metadata = self._metadata(invalid) if invalid is not None else None
        return event("TOOL_CALL_END", toolCallId=self.wire, metadata=metadata)

    def _metadata(self, invalid: str | None = None) -> dict[str, JSON] | None:
        start = self.start
        return tool_metadata(start.kind, start.server, start.display, invalid)


def tool_metadata(
    kind: str, server: bool, display: str | None, invalid: str | None
) -> dict[str, JSON] | None:
    """Metadata of a call that the client has no field for; none for a plain function.

    `invalid` is an input that is not JSON, with the suffix that was added to make it JSON.
    """
    return mobox_metadata(
        {
            "kind": kind if kind != "function" else None,
            "server": server or None,
            "display": display,
            "invalid": True if invalid is not None else None,
            "added": (completion(invalid) or None) if invalid is not None else None,
        }
    )


class Tools:
    """Every call of the run so far."""

    def __init__(self, ids: WireIds, profile: Profile) -> None:
        self._ids = ids
        self._profile = profile
        self._calls: dict[str | None, _Call] = {}
        self._forgotten: set[str | None] = set()

    def __contains__(self, own: str | None) -> bool:
        return own in self._calls

    def has_result(self, own: str | None) -> bool:
        """Whether this call needs no result any more."""
        return own in self._forgotten or (own in self._calls and self._calls[own].answered)

    @property
    def pending(self) -> list[str]:
        """The complete calls without a result, by their ids on the wire."""
        calls = self._calls.values()
        return [call.wire for call in calls if not call.streams and not call.answered]

    def forget(self, names: Collection[str]) -> Documents:
        """These calls were retracted: their later events are ignored."""
        gone = {own: self._calls.pop(own) for own in names if own in self._calls}
        self._forgotten |= gone.keys()
        return [call.end() for call in gone.values() if call.streams]

    def was_told(self, own: str | None) -> bool:
        """Whether a call of that id was ever started, even if it was retracted since."""
        return own in self._calls or own in self._forgotten

    def streams(self, own: str | None) -> bool:
        """Whether a call's input is not complete."""
        return own in self._calls and self._calls[own].streams

    def is_forgotten(self, own: str | None) -> bool:
        """Whether the call was retracted."""
        return own in self._forgotten

    def before(self, log_event: ToolUseDelta | ToolUseEnd | ToolResult) -> Documents:
        """A missing start of a call: RAW if a later version logged it."""
        if log_event.id in self._calls:
            return []
        return self.start(ToolUseStart(id=log_event.id, scope=log_event.scope, name=UNKNOWN_TOOL))

    def start(self, log_event: ToolUseStart) -> Documents:
        call = self._calls[log_event.id] = _Call(log_event, self._ids)
        return [call.begin(), *encrypted("tool-call", call.wire, log_event.provider)]

    def prefix_of(self, own: str | None) -> bytes:
        """The prefix of the event for an input delta."""
        return self._calls[own].prefix

    def end(self, log_event: ToolUseEnd, streamed: str) -> Corrections:
        """The input is complete: `streamed` of it was sent in deltas."""
        call = self._calls[log_event.id]
        call.streams = False
        whole = arguments_text(log_event.input, log_event.invalid)
        rest = completion(streamed) if streamed else whole
        more = [call.prefix + encode(rest) + b"}"] if rest else []
        end = call.end(log_event.invalid)
        return Corrections([*more, end], corrects=not is_same(streamed + rest, whole))

    def result(self, log_event: ToolResult) -> Corrections:
        """The result of a call."""
        call = self._calls[log_event.id]
        corrects, call.answered = call.answered, not log_event.partial
        if log_event.partial:
            about = {"toolCallId": call.wire, "output": log_event.output}
            return Corrections([custom("mobox.tool_output", about)], corrects)
        if corrects:  # a second result would be a second message
            return Corrections([], corrects=True)
        result = event(
            "TOOL_CALL_RESULT",
            messageId=self._ids.result(log_event.id),
            toolCallId=call.wire,
            content=result_content(log_event, self._profile),
            role="tool",
            subagentRunId=call.owner,
            metadata=result_metadata(log_event),
        )
        return Corrections([result])

    def suspend(self) -> Documents:
        """The ends of inputs that are still streamed, where the response ends but they do not."""
        return [call.end() for call in self._calls.values() if call.streams]

    def reopen(self) -> Documents:
        """The starts of inputs that are still streamed, for a response that starts here."""
        return [call.begin() for call in self._calls.values() if call.streams]
