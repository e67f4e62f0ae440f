"""Texts between a store and a client: both use JSON, so most texts are never decoded.

No JSON text has a line end in it. A list with one line per text can therefore be split and
formatted without decoding the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from mobox.errors import CorruptLog

__all__ = ["Texts"]

_LINE_END = b"\n"
_BETWEEN = b",\n"
_BETWEEN_TEXTS = b'",\n"'

_encode_lines = msgspec.json.Encoder().encode_lines
_decode = msgspec.json.Decoder(list[str]).decode


class Texts(Sequence[str]):
    """A list of texts, each kept as JSON."""

    __slots__ = ("_joined", "_length")

    def __init__(self, joined: bytes, length: int) -> None:
        """From JSON texts with a comma and a line end between each two."""
        self._joined = joined
        self._length = length

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        return cls(_encode_lines(texts)[:-1].replace(_LINE_END, _BETWEEN), len(texts))

    @classmethod
    def read(cls, listed: bytes) -> Texts:
        """From a JSON list; one without lines, of an earlier version, is decoded."""
        lines = listed.count(_LINE_END)
        is_in_lines = lines and lines == listed.count(_BETWEEN_TEXTS)
        if is_in_lines and listed.startswith(b'["') and listed.endswith(b'"]'):
            return cls(listed[1:-1], lines + 1)
        return cls.of(_read(listed))

    def listed(self) -> bytes:
        """A JSON list with a line for each text."""
        return b"[%b]" % self._joined

    def joined(self, between: bytes) -> bytes:
        """The JSON texts, with another separator between each two."""
        return self._joined.replace(_BETWEEN, between)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(_read(self.listed()))

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...
    def __getitem__(self, place: int | slice) -> str | Texts:
        if isinstance(place, slice):
            texts = self._joined.split(_BETWEEN)[: self._length][place]
            return Texts(_BETWEEN.join(texts), len(texts))
        return _read(self.listed())[place]


def _read(listed: bytes) -> list[str]:
    try:
        return _decode(listed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptLog(f"not a list of texts: {error}: {listed[:80]!r}") from error
