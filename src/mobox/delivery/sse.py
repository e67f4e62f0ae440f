"""Server-Sent Events: one document, one event. LF only, since some clients refuse CRLF."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["encode"]


def encode(documents: Iterable[bytes]) -> bytes:
    """The frames of `documents`, ready to be sent in one write."""
    body = b"\n\ndata: ".join(documents)
    return b"data: %b\n\n" % body if body else b""
