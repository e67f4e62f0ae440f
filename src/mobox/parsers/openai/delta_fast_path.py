"""Fast paths for consecutive deltas of a block, one for each form of line.

A fast path takes a line and returns its event, or `None` if the line may be something else; a line
that cannot be decoded raises `msgspec.DecodeError`. The types validate while msgspec decodes: a
chunk with any content other than a delta of this block does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, defstruct

from mobox.events import StreamEvent, TextDelta, ThinkingDelta, ToolUseDelta

FastPath = Callable[[bytes], StreamEvent | None]

Words = Annotated[str, Meta(min_length=1)]
Silence = Literal[""] | None


class _Function(Struct, gc=False):
    arguments: Words
    name: Silence = None


class _Piece(Struct, gc=False):
    function: _Function
    index: int
    id: Silence = None
    custom: None = None


_SILENT: dict[str, Any] = {
    "role": str | None,
    "channel": str | None,
    "content": Silence,
    "reasoning_content": Silence,
    "reasoning": Silence,
    "refusal": Silence,
    "tool_calls": None,
    "function_call": None,
    "annotations": None,
    "audio": None,
}
"""The fields of an empty delta."""

_BESIDE = (
    *("usage", "x_groq", "error", "citations", "search_results", "web_search"),
    *("prompt_filter_results", "data"),
)
"""The fields of a chunk with content beside its delta."""


def _decoder(field: str, piece: Any) -> Any:
    """Decodes chunks whose only choice has a delta with this field and nothing else."""
    silent = [(name, kind, None) for name, kind in _SILENT.items() if name != field]
    delta = defstruct("Delta", [(field, piece), *silent], forbid_unknown_fields=True, gc=False)
    choice = defstruct(
        "Choice",
        [
            ("delta", delta),
            ("index", Literal[0] | None, 0),
            ("finish_reason", None, None),
            ("message", None, None),
        ],
        gc=False,
    )
    beside = [(name, None, None) for name in _BESIDE]
    one = GenericAlias(tuple, (choice,))
    return msgspec.json.Decoder(defstruct("Chunk", [("choices", one), *beside], gc=False)).decode


class _Event(Struct, gc=False):
    type: str
    delta: Words
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None


class _Wrapped(Struct, gc=False):
    type: Literal["raw_response_event"]
    data: _Event


_WORDS = {name: _decoder(name, Words) for name in ("content", "reasoning_content", "reasoning")}
_decode_call = _decoder("tool_calls", tuple[_Piece])
_decode_event = msgspec.json.Decoder(_Event).decode
_decode_wrapped = msgspec.json.Decoder(_Wrapped).decode


def of_words(field: str, name: str) -> FastPath:
    """Chunks whose delta has only this field."""
    decode = _WORDS[field]
    if field == "content":
        return lambda line: TextDelta(id=name, delta=decode(line).choices[0].delta.content)
    text_of = attrgetter(field)
    return lambda line: ThinkingDelta(id=name, delta=text_of(decode(line).choices[0].delta))


def of_call(index: int, name: str, pieces: list[str]) -> FastPath:
    """Chunks whose delta has only one call's arguments."""

    def more(line: bytes) -> StreamEvent | None:
        piece = _decode_call(line).choices[0].delta.tool_calls[0]
        if piece.index != index:
            return None
        text = piece.function.arguments
        pieces.append(text)
        return ToolUseDelta(id=name, delta=text)

    return more


def of_event(
    place: tuple[str, int | None, int | None, int | None],
    event_class: Callable[..., StreamEvent],
    name: str,
    wrapped: bool,
) -> FastPath:
    """Events of one type for one part of one item, bare or wrapped by the Agents SDK."""
    kind, index, content, summary = place

    def more(line: bytes) -> StreamEvent | None:
        event = _decode_wrapped(line).data if wrapped else _decode_event(line)
        if (
            event.type != kind
            or event.output_index != index
            or event.content_index != content
            or event.summary_index != summary
        ):
            return None
        return event_class(id=name, delta=event.delta)

    return more
