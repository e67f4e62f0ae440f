"""Server-Sent Events: one document, one event. LF only, since some clients refuse CRLF."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["BETWEEN", "STREAM", "encode", "encode_numbered", "frame"]

STREAM = "text/event-stream"
"""Their media type."""

BETWEEN = b"\n\ndata: "
"""What stands between two documents."""


def encode(documents: Iterable[bytes]) -> bytes:
    """The frames of `documents`, ready to be sent in one write."""
    return frame(BETWEEN.join(documents))


def frame(joined: bytes) -> bytes:
    """The same of documents that have `BETWEEN` between them."""
    return b"data: %b\n\n" % joined if joined else b""


def encode_numbered(documents: Iterable[tuple[bytes | None, bytes]]) -> bytes:
    """The frames of documents, each with the id that a client says when it comes back, if any."""
    frames = []
    for number, document in documents:
        place = b"" if number is None else b"id: %b\n" % number
        frames.append(b"%bdata: %b\n\n" % (place, document))
    return b"".join(frames)
