"""The type of a file: checked by its first bytes when it is stored, and restricted when it is sent.

Rule 1: a type that has a signature (images, sound, video, PDF) must have it. If the bytes have the
        signature of another type, that type is stored; with none, `application/octet-stream`.
Rule 2: any other type is stored as it was declared: nothing depends on it but a name in a list.
Rule 3: a browser shows only types that cannot run scripts; all others are downloads without a type.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

HEAD: Final = 64
"""How many of a file's first bytes decide."""
UNKNOWN: Final = "application/octet-stream"

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")


class _Signature(NamedTuple):
    """The first bytes of files of some types, which have the same container."""

    pattern: re.Pattern[bytes]
    types: tuple[str, ...]
    """The first one is the usual."""


def _begins(pattern: bytes, *types: str) -> _Signature:
    return _Signature(re.compile(pattern, re.DOTALL), types)


_SIGNATURES: Final = (
    _begins(rb"\x89PNG\r\n\x1a\n", "image/png", "image/apng"),
    _begins(rb"\xff\xd8\xff", "image/jpeg"),
    _begins(rb"GIF8[79]a", "image/gif"),
    _begins(rb"RIFF....WEBP", "image/webp"),
    _begins(rb"....ftyp(?:avif|avis)", "image/avif"),
    _begins(rb"....ftyp(?:heic|heix|hevc|heim|heis|mif1|msf1)", "image/heic", "image/heif"),
    _begins(rb"II\*\0|MM\0\*", "image/tiff"),
    _begins(rb"BM....\0\0\0\0", "image/bmp"),
    _begins(rb"%PDF-", "application/pdf"),
    _begins(rb"RIFF....WAVE", "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"),
    _begins(rb"ID3|\xff[\xfb\xf3\xf2]", "audio/mpeg", "audio/mp3"),
    _begins(rb"\xff[\xf1\xf9]", "audio/aac"),
    _begins(rb"fLaC", "audio/flac", "audio/x-flac"),
    _begins(rb"OggS", "audio/ogg", "video/ogg", "audio/opus", "application/ogg"),
    _begins(rb"\x1aE\xdf\xa3", "video/webm", "audio/webm", "video/x-matroska"),
    _begins(rb"....ftypM4[AB] ", "audio/mp4", "audio/x-m4a", "audio/m4a", "audio/aac"),
    _begins(rb"....ftypqt  ", "video/quicktime"),
    _begins(rb"....ftyp", "video/mp4", "audio/mp4", "video/x-m4v", "audio/m4a"),
)
_SIGNED: Final = {name for signature in _SIGNATURES for name in signature.types}
_FAMILIES: Final = {"image", "audio", "video"}

_SHOWN: Final = {
    "image/png", "image/apng", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
    "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave", "audio/mpeg", "audio/mp3",
    "audio/aac", "audio/flac", "audio/x-flac", "audio/ogg", "audio/opus", "audio/webm", "audio/mp4",
    "audio/x-m4a", "audio/m4a",
    "video/ogg", "video/webm", "video/mp4", "video/quicktime", "video/x-m4v",
    "text/plain",
}  # fmt: skip
"""What a browser may show: pictures without SVG, sound, video and plain text."""
_TYPED: Final = {"application/pdf"}
"""Downloads that keep their type: browsers show no PDF in a sandbox."""


def media_type_of(text: str) -> str:
    """The type that a client declared, without parameters and in lower case; "" if it is none."""
    name = text.partition(";")[0].strip().lower()
    return name if _TYPE.fullmatch(name) or _is_family(name) else ""


def checked_type(declared: str, head: bytes) -> str:
    """The type that a file is stored with, by what was declared and by its first bytes."""
    name = media_type_of(declared)
    if not _is_checked(name):
        return name
    found = next((each.types for each in _SIGNATURES if each.pattern.match(head)), ())
    return name if name in found else next(iter(found), UNKNOWN)


def agreed_type(declared: str, stored: str) -> str:
    """The type of a stored file in a message that declares one."""
    name = media_type_of(declared)
    return stored if _is_checked(name) else name


class Served(NamedTuple):
    """How a file is sent."""

    content_type: str
    is_inline: bool


def served_as(media_type: str) -> Served:
    """How a file of this type is sent to a browser."""
    if media_type not in _SHOWN:
        return Served(media_type if media_type in _TYPED else UNKNOWN, is_inline=False)
    charset = "; charset=utf-8" if media_type == "text/plain" else ""
    return Served(media_type + charset, is_inline=True)


def _is_checked(name: str) -> bool:
    """Whether the bytes decide about the type: it has a signature, or says nothing."""
    return name in _SIGNED or name in ("", UNKNOWN) or _is_family(name)


def _is_family(name: str) -> bool:
    """Whether it is a type such as `image/*`, which clients declare that know no more."""
    return name.endswith("/*") and name.removesuffix("/*") in _FAMILIES
