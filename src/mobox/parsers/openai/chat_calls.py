"""The tool calls of a chat completion, whose inputs come in deltas."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from mobox.events import UNKNOWN_TOOL, Events, ToolUseDelta, ToolUseEnd, ToolUseStart
from mobox.events.names import tool_use_end
from mobox.parsers.openai import wire
from mobox.parsers.openai.wire import Names
from mobox.parsers.tool_kinds import tool_kind


class _Call(Struct):
    id: str
    given_id: str | None
    name: str | None = None
    kind: str = "function"
    pieces: list[str] = []
    started: bool = False

    def start(self) -> Events:
        """Start, and emit the deltas that came before the call had a name."""
        self.started = True
        name = self.name or UNKNOWN_TOOL
        kind = tool_kind(name)
        is_custom = kind == "function" and self.kind == "custom"
        start = ToolUseStart(id=self.id, name=name, kind="custom" if is_custom else kind)
        pieces, self.pieces = self.pieces, []
        return [start, *(self.say(piece) for piece in pieces)]

    def say(self, piece: str) -> ToolUseDelta:
        """A delta of the input; plain text of a custom call is emitted as a JSON string."""
        delta = piece
        if self.kind == "custom":
            delta = ("" if self.pieces else '"') + json_of(piece)
        self.pieces.append(piece)
        return ToolUseDelta(id=self.id, delta=delta)

    def end(self) -> Events:
        """The input is complete."""
        before = [] if self.started else self.start()
        text = "".join(self.pieces)
        is_text = self.kind == "custom"
        return [
            *before,
            ToolUseEnd(id=self.id, input=text) if is_text else tool_use_end(self.id, text),
        ]


class ChatCalls:
    """The calls of the current message."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._calls: dict[int, _Call] = {}
        self._last = 0
        self.any = False
        """The message has called a tool of the caller."""

    def begin(self) -> None:
        """Another message: its indexes restart."""
        self._calls = {}
        self.any = False

    def add(self, piece: wire.CallPiece) -> Events:
        index = self._index(piece)
        call, ends = self._calls.get(index), []
        self._last = index
        if call is None or self._is_another(call, piece):
            ends = call.end() if call is not None else []
            call = self._calls[index] = _Call(piece.id or self._names.fresh("call"), piece.id)
            self.any = True
        return [*ends, *self._more(call, piece)]

    def add_input(self, index: int, text: str) -> Events | None:
        """`add` for another delta of the input of a started call; `None` if it is not that."""
        call = self._calls.get(index)
        if call is None or not call.started or not text:
            return None
        self._last = index
        return [call.say(text)]

    def _more(self, call: _Call, piece: wire.CallPiece) -> Events:
        name, text = _name_and_input(piece)
        call.name = call.name or name
        call.kind = "custom" if piece.custom is not None else call.kind
        before = call.start() if call.name is not None and not call.started else []
        if not text:
            return before
        if call.started:
            return [*before, call.say(text)]
        call.pieces.append(text)
        return before

    def _index(self, piece: wire.CallPiece) -> int:
        if piece.index is not None:
            return piece.index
        return max(self._calls, default=-1) + 1 if piece.id else self._last

    def _is_another(self, call: _Call, piece: wire.CallPiece) -> bool:
        named = piece.function is not None and piece.function.name
        return bool(piece.id and named and call.given_id and piece.id != call.given_id)

    def end(self) -> Events:
        """The message ended: end the inputs of its calls."""
        calls, self._calls = list(self._calls.values()), {}
        return [event for call in calls for event in call.end()]

    def begin_held(self) -> Events:
        """The stream ended: emit the calls that never got a name."""
        held = [call for call in self._calls.values() if not call.started]
        return [event for call in held for event in call.start()]


def json_of(text: str) -> str:
    """A delta of plain text as a delta of a JSON string."""
    return msgspec.json.encode(text).decode()[1:-1]


def _name_and_input(piece: wire.CallPiece) -> tuple[str | None, str]:
    """The name and the input delta, from either kind of call."""
    if piece.custom is not None:
        name, text = piece.custom.get("name"), piece.custom.get("input")
        return (name if isinstance(name, str) else None), (text if isinstance(text, str) else "")
    function = piece.function or wire.Function()
    text = function.arguments
    if text is not None and not isinstance(text, str):
        text = msgspec.json.encode(text).decode()  # some send the value itself
    return function.name or None, text or ""
