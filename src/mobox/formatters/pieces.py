"""Text that comes in pieces, many at once: most of what any protocol has to tell."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mobox.texts import Texts

__all__ = ["LINE_END", "split", "tell_pieces"]

_encoder = msgspec.json.Encoder()
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines


LINE_END = b"\n"


def tell_pieces(prefix: bytes, pieces: Sequence[str], between: bytes) -> bytes:
    """For each piece the document that `prefix`, its JSON and a brace are.

    Encoded in one go, as lines: no JSON text has a line end in it, so those tell where one ends.
    """
    end = b"}" + between + prefix
    if type(pieces) is Texts:
        texts = pieces.joined(end)
        return b"%b%b}" % (prefix, texts) if texts else b""
    if len(pieces) == 1:
        return b"%b%b}" % (prefix, _encode(pieces[0]))
    lines = _encode_lines(pieces).replace(LINE_END, end)
    return prefix + lines[: 1 - len(end)]


def split(joined: bytes) -> list[bytes]:
    """The documents that have line ends between them."""
    return joined.split(LINE_END) if joined else []
