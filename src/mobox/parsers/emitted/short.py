"""The fast path for the line that agents print most: text, and nothing else."""

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
    """The text of a text line; `None` if it has other fields or another form."""
    if not line.startswith(_STARTS):
        return None
    try:
        return _decode(line).data.content
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
