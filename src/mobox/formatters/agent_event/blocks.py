"""The blocks of one run: thoughts and texts, sent in chunks and then complete, and tool calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from mobox.events import (
    JSON,
    UNKNOWN_TOOL,
    StreamEvent,
    ToolResult,
    ToolUseDelta,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.formatters.agent_event.numbering import Documents, Numbering
from mobox.formatters.values import FAILED_OUTCOMES, call_error


class Block:
    """One open block."""

    __slots__ = ("citations", "common", "delta_class", "deltas", "held", "kind", "prefix")

    def __init__(
        self,
        kind: Literal["message", "thinking"],
        delta_class: type[StreamEvent] | None = None,
        scope: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.delta_class = delta_class
        self.common: dict[str, JSON] = {"scope": list(scope)} if scope else {}
        self.prefix = b""
        self.deltas: list[str] = []
        self.citations: list[JSON] = []
        self.held: list[JSON] = []
        """The citations that no chunk has sent yet."""

    def cite(self, citation: JSON) -> None:
        """Keep a citation for the next chunk, and for the complete block."""
        self.held.append(citation)
        self.citations.append(citation)


class Blocks:
    """The open blocks, and the order in which all blocks of the run started."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._count = 0
        self._places: dict[str | None, list[int]] = defaultdict(list)
        self._open: dict[str | None, Block] = {}
        self.find = self._open.get
        """The open block of that name; `None` if there is none."""

    def place(self, name: str | None) -> int:
        """The `blockIndex` of a new block or call."""
        index, self._count = self._count, self._count + 1
        self._places[name].append(index)
        return index

    def places(self, name: str | None) -> list[int]:
        """The indexes of the blocks of that id, without retracted ones."""
        return self._places.get(name, [])

    def retract(self, names: Iterable[str]) -> list[int]:
        """Remove these blocks and return their indexes."""
        return [index for name in names for index in self._places.pop(name, ())]

    def open(self, name: str | None, block: Block) -> Documents:
        """Open a block; in a log of a later version, the one before it may have no end."""
        closing = self.close(name)
        self._open[name] = block
        block.common = {"blockIndex": self.place(name), **block.common}
        block.prefix = self._numbering.chunk_prefix(f"{block.kind}_chunk", **block.common)
        return closing

    def write(self, name: str | None, text: str, between: str = "") -> Documents:
        """A delta of an open block; `between` precedes every delta but the first."""
        if not text:
            return []
        block = self._open[name]
        text = between + text if block.deltas else text
        block.deltas.append(text)
        return self._chunk(block, text)

    def close(self, name: str | None, signature: str | None = None) -> Documents:
        """End a block, if it is open: send it complete, unless it is empty."""
        block = self._open.pop(name, None)
        if block is None or not (block.deltas or block.held or signature is not None):
            return []
        last = [] if block.deltas and not block.held else self._chunk(block, "")
        about: dict[str, JSON] = {"content": "".join(block.deltas), **block.common}
        about |= {"citations": block.citations} if block.citations else {}
        about |= {"signature": signature} if signature is not None else {}
        return [*last, *self._numbering.persisted(block.kind, **about)]

    def close_all(self) -> Documents:
        """End all open blocks, in the order in which they were opened."""
        return [document for name in list(self._open) for document in self.close(name)]

    def latest_message(self) -> Block | None:
        """The open text that was started last."""
        blocks = reversed(self._open.values())
        return next((block for block in blocks if block.kind == "message"), None)

    def _chunk(self, block: Block, text: str) -> Documents:
        cited = {"citations": block.held} if block.held else {}
        block.held = []
        return self._numbering.chunk(block.prefix, text, **cited)


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
    """Every call of the run so far: sent when its input is complete, and again with its result."""

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
        given = event.input if event.invalid is None else event.invalid
        if not isinstance(given, dict):  # the contract requires an object, whatever the model wrote
            given = {} if given is None else {"input": given}
        about = {**call.common, "tool_input": given, "blockIndex": call.index}
        return self._numbering.persisted("tool_use", **about)

    def result(self, event: ToolResult) -> Documents:
        """The result of a call; partial ones are not sent, as later results replace them."""
        call = self._call_of(event)
        if event.partial:
            return []
        before = [] if call.sent else self.end(ToolUseEnd(id=event.id))
        has_failed = event.status in FAILED_OUTCOMES
        result = {"result": call_error(event) if has_failed else event.output}
        failed = {"isError": True} if has_failed else {}
        about = {**call.common, **result, **failed}
        return [*before, *self._numbering.persisted("tool_result", **about)]

    def _call_of(self, event: ToolUseDelta | ToolUseEnd | ToolResult) -> _Call:
        """The call; its start may be RAW, if a later version logged it."""
        if event.id not in self._calls:
            self.start(ToolUseStart(id=event.id, scope=event.scope, name=UNKNOWN_TOOL))
        return self._calls[event.id]
