"""Server-Sent Events: one document, one event. LF only, since some clients refuse CRLF."""

from __future__ import annotations

from collections.abc import Iterable

STREAM = "text/event-stream"
"""The media type of SSE."""

BETWEEN = b"\n\ndata: "
"""The separator of two documents."""


def encode(documents: Iterable[bytes]) -> bytes:
    """The frames of `documents`, ready to be sent in one write."""
    return frame(BETWEEN.join(documents))


def frame(joined: bytes) -> bytes:
    """The frames of documents that are already joined by `BETWEEN`."""
    return b"data: %b\n\n" % joined if joined else b""


def encode_numbered(documents: Iterable[tuple[bytes | None, bytes]]) -> bytes:
    """The frames of documents, each with its `id`, if any, which reconnecting clients send."""
    frames = []
    for number, document in documents:
        place = b"" if number is None else b"id: %b\n" % number
        frames.append(b"%bdata: %b\n\n" % (place, document))
    return b"".join(frames)
