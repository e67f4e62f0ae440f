"""The tool calls of one run: told when their input is whole, and again with what came of it."""

from __future__ import annotations

from mobox.events import JSON, UNKNOWN_TOOL, ToolResult, ToolUseDelta, ToolUseEnd, ToolUseStart
from mobox.formatters.agent_event.blocks import Blocks
from mobox.formatters.agent_event.numbering import Documents, Numbering
from mobox.formatters.outcomes import FAILED, error_text

__all__ = ["Tools"]


class _Call:
    """What later events of a call repeat of its start."""

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
        """A call has its place from here on."""
        self._calls[event.id] = _Call(event, self._blocks.place(event.id))
        return []

    def more(self, event: ToolUseDelta) -> Documents:
        """Inputs are not streamed in this contract."""
        self._call_of(event)
        return []

    def end(self, event: ToolUseEnd) -> Documents:
        """The input is whole."""
        call = self._call_of(event)
        call.sent = True
        given = _as_object(event.input if event.invalid is None else event.invalid)
        about = {**call.common, "tool_input": given, "blockIndex": call.index}
        return self._numbering.persisted("tool_use", **about)

    def result(self, event: ToolResult) -> Documents:
        """What came of a call; a part of that is not told, and what comes later replaces it."""
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
        """The call, whose start a later version may have told in words that are RAW to us."""
        if event.id not in self._calls:
            self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        return self._calls[event.id]


def _as_object(given: JSON) -> dict[str, JSON]:
    """A call's input as the contract has it: a whole object, whatever the model wrote."""
    if given is None:
        return {}
    return given if isinstance(given, dict) else {"input": given}
