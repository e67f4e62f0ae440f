"""Server-Sent Events: one document, one event. LF only, since some clients refuse CRLF."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["encode", "encode_numbered"]


def encode(documents: Iterable[bytes]) -> bytes:
    """The frames of `documents`, ready to be sent in one write."""
    body = b"\n\ndata: ".join(documents)
    return b"data: %b\n\n" % body if body else b""


def encode_numbered(documents: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The frames of documents, each with the id that a client says when it comes back."""
    return b"".join(b"id: %b\ndata: %b\n\n" % numbered for numbered in documents)
