"""The floor: the workload's lines decoded by msgspec into Structs of their own, and encoded again.

Nobody who reads typed JSON and writes JSON from Python gets below it; Mobox writes twice, the log
and the wire. Apart from mobox.parsers, so that a change there does not move the floor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["by_line", "by_read"]


class Text(Struct, tag="text_delta", gc=False):
    """More of an answer."""

    text: str


class Thought(Struct, tag="thinking_delta", gc=False):
    """More of a thought."""

    thinking: str


class Signature(Struct, tag="signature_delta", gc=False):
    """What signs a thought."""

    signature: str


class Input(Struct, tag="input_json_delta", gc=False):
    """More of a tool's input."""

    partial_json: str


class Citation(Struct, tag="citations_delta"):
    """A source of the answer."""

    citation: dict[str, Any]


class TextBlock(Struct, tag="text"):
    """An answer."""

    text: str


class ThinkingBlock(Struct, tag="thinking"):
    """A thought."""

    thinking: str
    signature: str


class ToolBlock(Struct, tag="tool_use"):
    """A tool call."""

    id: str
    name: str
    input: dict[str, Any]


class Delta(Struct, tag="content_block_delta", gc=False):
    """More of a block."""

    index: int
    delta: Text | Thought | Signature | Input | Citation


class Start(Struct, tag="content_block_start"):
    """A block begins."""

    index: int
    content_block: TextBlock | ThinkingBlock | ToolBlock


class Stop(Struct, tag="content_block_stop", gc=False):
    """A block ends."""

    index: int


class MessageStart(Struct, tag="message_start"):
    """A turn begins."""

    message: dict[str, Any]


class MessageDelta(Struct, tag="message_delta"):
    """Why a turn ends, and what it took."""

    delta: dict[str, Any]
    usage: dict[str, Any]


class MessageStop(Struct, tag="message_stop"):
    """A turn ends."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Delta | Start | Stop | MessageStart | MessageDelta | MessageStop)


def by_line(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Each line decoded and encoded."""
    decode, encode = _decoder.decode, _encoder.encode
    return [encode(decode(line)) for line in lines]


def by_read(reads: Iterable[bytes]) -> Iterable[bytes]:
    """Each read decoded and encoded in one go."""
    decode_lines, encode_lines = _decoder.decode_lines, _encoder.encode_lines
    return [encode_lines(decode_lines(read)) for read in reads]
