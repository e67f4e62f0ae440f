"""Finds the file in a body of `multipart/form-data`, as the bytes arrive.

https://www.rfc-editor.org/rfc/rfc7578

Rule 1: it holds no more than a part's headers and the length of a boundary, whatever is sent.
Rule 2: a body has one file; fields without a file name are ignored.
Rule 3: a body that ends before its last boundary is an error: the file would be incomplete.
"""

from __future__ import annotations

from collections.abc import Callable
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Final, NamedTuple

from mobox.errors import InvalidRequest

FORM: Final = "multipart/form-data"
_MOST_HEADERS: Final = 16 * 1024
_MOST_PADDING: Final = 100
_MOST_BOUNDARY: Final = 70
_LINE_END: Final = b"\r\n"


class FilePart(NamedTuple):
    """What the headers say about the file."""

    name: str
    media_type: str


def boundary_of(content_type: str) -> bytes:
    """The boundary that a content type names."""
    header = Message()
    header["content-type"] = content_type
    boundary = header.get_boundary() or ""
    if not 0 < len(boundary) <= _MOST_BOUNDARY or not boundary.isascii():
        raise InvalidRequest("content-type", "expected a boundary of 1 to 70 characters")
    return boundary.encode()


class MultipartFile:
    """A body that is being read; `part` is known once the headers of the file are."""

    def __init__(self, boundary: bytes) -> None:
        self.part: FilePart | None = None
        self._delimiter = b"\r\n--" + boundary
        self._held = bytearray(_LINE_END)  # the first boundary needs no line before it
        self._step: Callable[[bytearray], bool] = self._content
        self._is_in_file = False
        self._has_ended = False

    def feed(self, data: bytes) -> bytes:
        """Read further bytes of the body; return those of the file."""
        found = bytearray()
        self._held += data
        while self._step(found):
            pass
        return bytes(found)

    def finish(self) -> None:
        """The body has ended; raises `InvalidRequest` unless it is complete and has a file."""
        if not self._has_ended:
            raise InvalidRequest("", "the multipart body ends before its last boundary")
        if self.part is None:
            raise InvalidRequest("file", "expected a part with a file name, got none")

    # Each step consumes some of what is held, and returns whether the next one can be done.

    def _content(self, found: bytearray) -> bool:
        held, delimiter = self._held, self._delimiter
        end = held.find(delimiter)
        is_over = end >= 0
        if not is_over:  # the delimiter may have begun
            end = max(0, len(held) - len(delimiter) + 1)
        if self._is_in_file:
            found += held[:end]
        del held[: end + len(delimiter) * is_over]
        if is_over:
            self._step = self._after_boundary
        return is_over

    def _after_boundary(self, _found: bytearray) -> bool:
        held = self._held
        self._is_in_file = False
        if held.startswith(b"--"):
            self._has_ended = True
            self._step = self._epilogue
            return True
        end = held.find(_LINE_END)
        if held[: max(end, 0)].strip(b" \t") or (end < 0 and len(held) > _MOST_PADDING):
            raise InvalidRequest("", "expected the end of a line after a boundary")
        if end < 0:
            return False
        del held[: end + len(_LINE_END)]
        self._step = self._headers
        return True

    def _headers(self, _found: bytearray) -> bool:
        held = self._held
        end = 0 if held.startswith(_LINE_END) else held.find(2 * _LINE_END)
        if (len(held) if end < 0 else end) > _MOST_HEADERS:
            raise InvalidRequest("", f"the headers of a part exceed {_MOST_HEADERS} bytes")
        if end < 0:
            return False
        self._note(bytes(held[:end]))
        del held[: end + (2 * len(_LINE_END) if end else len(_LINE_END))]
        self._step = self._content
        return True

    def _epilogue(self, _found: bytearray) -> bool:
        self._held.clear()
        return False

    def _note(self, headers: bytes) -> None:
        """Read the headers of a part."""
        message = Message()
        for line in headers.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(":")
            if name.strip().lower() in ("content-disposition", "content-type"):
                message[name.strip()] = value.strip().replace("\n", " ").replace("\r", " ")
        file_name = message.get_param("filename", header="content-disposition")
        if file_name is None:
            return
        if self.part is not None:
            raise InvalidRequest("file", "expected one file, got several")
        name = collapse_rfc2231_value(file_name)
        self.part = FilePart(name, message.get("content-type", ""))
        self._is_in_file = True
