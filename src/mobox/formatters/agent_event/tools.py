"""The tool calls of one run: sent when their input is complete, and again with their result."""

from __future__ import annotations

from mobox.events import JSON, UNKNOWN_TOOL, ToolResult, ToolUseDelta, ToolUseEnd, ToolUseStart
from mobox.formatters.agent_event.blocks import Blocks
from mobox.formatters.agent_event.numbering import Documents, Numbering
from mobox.formatters.outcomes import FAILED, error_text

__all__ = ["Tools"]


class _Call:
    """Fields of a call's start that later events repeat."""

    __slots__ = ("common", "index", "sent")

    def __init__(self, start: ToolUseStart, index: int) -> None:
        self.common: dict[str, JSON] = {"tool_name": start.name, "tool_call_id": start.id}
        if start.scope:
            self.common["scope"] = list(start.scope)
        self.index = index
        self.sent = False


class Tools:
    """Every call of the run so far."""

    def __init__(self, numbering: Numbering, blocks: Blocks) -> None:
        self._numbering = numbering
        self._blocks = blocks
        self._calls: dict[str | None, _Call] = {}

    def __contains__(self, name: str | None) -> bool:
        return name in self._calls

    def start(self, event: ToolUseStart) -> Documents:
        """A call starts and takes its `blockIndex`."""
        self._calls[event.id] = _Call(event, self._blocks.place(event.id))
        return []

    def more(self, event: ToolUseDelta) -> Documents:
        """Inputs are not streamed in this contract."""
        self._call_of(event)
        return []

    def end(self, event: ToolUseEnd) -> Documents:
        """The input is complete."""
        call = self._call_of(event)
        call.sent = True
        given = _as_object(event.input if event.invalid is None else event.invalid)
        about = {**call.common, "tool_input": given, "blockIndex": call.index}
        return self._numbering.persisted("tool_use", **about)

    def result(self, event: ToolResult) -> Documents:
        """The result of a call; partial ones are not sent, as later results replace them."""
        call = self._call_of(event)
        if event.partial:
            return []
        before = [] if call.sent else self.end(ToolUseEnd(id=event.id))
        has_failed = event.status in FAILED
        result = {"result": error_text(event) if has_failed else event.output}
        failed = {"isError": True} if has_failed else {}
        about = {**call.common, **result, **failed}
        return [*before, *self._numbering.persisted("tool_result", **about)]

    def _call_of(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> _Call:
        """The call; its start may be RAW, if a later version logged it."""
        if event.id not in self._calls:
            self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        return self._calls[event.id]


def _as_object(given: JSON) -> dict[str, JSON]:
    """A call's input as the contract requires it: an object, whatever the model wrote."""
    if given is None:
        return {}
    return given if isinstance(given, dict) else {"input": given}
