"""Takes long strings out of JSON text as it arrives, and leaves a short placeholder for each.

A page may post a whole history with every photo in it, as `data:` URLs. So the text is not held as
a whole: a long string is passed on as it is written, with its escapes, and need not be in memory.

Rule 1: nothing is decided here but a string's length. Whether it is a file or a text is known when
        the rest was decoded; a text is then put back.
Rule 2: a placeholder contains a secret of the request, so a client cannot write one.
Rule 3: any split of the text gives the same result.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mobox.errors import BodyTooLarge

SHORT: Final = 4 * 1024
"""Bytes of a `data:` URL that stay in the text."""
LONG: Final = 64 * 1024
"""Bytes of any other string that stay in the text."""

_QUOTE: Final = ord('"')
_SPECIAL: Final = re.compile(rb'["\\]')
# Everything outside of strings, and short strings without escapes: most of a body, in one call.
_PLAIN: Final = re.compile(rb'(?:[^"]++|"[^"\\]{0,%d}+")*+' % SHORT)


class Span(NamedTuple):
    """Where a long string is among all bytes that were passed on."""

    start: int
    end: int


class LongStrings:
    """A text that is being read.

    `text` is what is left of it, and `spans` are its long strings, by placeholder. `text` may have
    `most` bytes; else `BodyTooLarge` is raised.
    """

    def __init__(self, secret: str, most: int) -> None:
        self.text = bytearray()
        self.spans: dict[str, Span] = {}
        self._secret = secret
        self._most = most
        self._passed_on = 0
        self._string: bytearray | None = None  # what was read of the current string, if it is short
        self._start: int | None = None  # where the current string starts, if it is long
        self._is_escaped = False

    def feed(self, data: bytes) -> bytes:
        """Read further text; return the bytes of long strings in it, to be stored elsewhere."""
        place, found = 0, []
        while place < len(data):
            if self._string is None and self._start is None:
                place = self._outside(data, place)
            else:
                place, piece = self._inside(data, place)
                found.append(piece)
        if len(self.text) + len(self._string or b"") > self._most:
            raise BodyTooLarge(self._most, "max-body", "the body without its files")
        return b"".join(found)

    def _outside(self, data: bytes, place: int) -> int:
        match = _PLAIN.match(data, place)
        end = match.end() if match is not None else place
        self.text += data[place:end]
        if end < len(data):  # a string begins
            self.text += b'"'
            self._string = bytearray()
        return end + 1

    def _inside(self, data: bytes, place: int) -> tuple[int, bytes]:
        quote = self._end_of_string(data, place)
        piece = data[place : len(data) if quote is None else quote]
        if self._string is not None:
            self._string += piece
            piece = self._if_long(self._string)
        self._passed_on += len(piece)
        if quote is None:
            return len(data), piece
        self._close()
        return quote + 1, piece

    def _end_of_string(self, data: bytes, place: int) -> int | None:
        """Where the quote is that ends the current string; `None` if it is in later text."""
        if self._is_escaped:
            self._is_escaped = False
            place += 1
        while (match := _SPECIAL.search(data, place)) is not None:
            if data[match.start()] == _QUOTE:
                return match.start()
            if match.end() == len(data):
                self._is_escaped = True
                return None
            place = match.end() + 1
        return None

    def _if_long(self, string: bytearray) -> bytes:
        """The current string, if it has become too long to stay."""
        if len(string) <= (SHORT if string.startswith(b"data:") else LONG):
            return b""
        self._string, self._start = None, self._passed_on
        return bytes(string)

    def _close(self) -> None:
        if self._string is not None:
            self.text += self._string
        else:
            assert self._start is not None
            name = f"{self._secret}:{len(self.spans)}"
            self.spans[name] = Span(self._start, self._passed_on)
            self.text += name.encode()
        self.text += b'"'
        self._string = self._start = None
