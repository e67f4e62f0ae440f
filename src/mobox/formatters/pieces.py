"""Text that comes in pieces, many at once: most of what any protocol has to tell."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

__all__ = ["tell_pieces"]

_encode_lines = msgspec.json.Encoder().encode_lines


def tell_pieces(prefix: bytes, pieces: Sequence[str]) -> list[bytes]:
    """For each piece the document that `prefix`, its JSON and a brace are.

    Encoded in one go, as lines, and cut where they end: no JSON text has a line end in it.
    """
    lines = _encode_lines(pieces)[:-1]
    return (prefix + lines.replace(b"\n", b"}\n" + prefix) + b"}").split(b"\n")
