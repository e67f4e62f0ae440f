"""The short way of the line that agents print most: text, and nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

__all__ = ["plain_text"]

_STARTS = (b'{"type":"text","data":{"content":"', b'{"type": "text", "data": {"content": "')


class _Content(Struct, forbid_unknown_fields=True, gc=False):
    content: str


class _TextLine(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    data: _Content


_decode = msgspec.json.Decoder(_TextLine).decode


def plain_text(line: bytes) -> str | None:
    """What a line of text says; `None` if it says more, or in other words."""
    if not line.startswith(_STARTS):
        return None
    try:
        return _decode(line).data.content
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
