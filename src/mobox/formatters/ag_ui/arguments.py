"""The arguments of a call as JSON text, also if the call was interrupted."""

from __future__ import annotations

from typing import Final

import msgspec

from mobox.events import JSON
from mobox.formatters.ag_ui.documents import encode

__all__ = ["arguments_text", "completion", "is_same"]

_ESCAPES: Final = (
    *("", "\\", "0", "00", "000", "0000"),
    *("0\\udc00", "00\\udc00", "\\udc00", "udc00", "dc00", "c00"),  # half of a character
)
_FILLERS: Final = (
    *("", "null", ":null", '"":null', "0", "e", "ue", "rue", "se", "lse", "alse", "l", "ll", "ull"),
    *(escape + end for end in ('"', '":null') for escape in _ESCAPES),
)
"""Possible endings of the last token of a truncated text, before its brackets close."""
_decode: Final = msgspec.json.Decoder().decode  # as strict as the JSON.parse of a page
_CLOSERS: Final = {"{": "}", "[": "]"}


def arguments_text(value: JSON, invalid: str | None) -> str:
    """The arguments that a client has at the end of a call's input."""
    if invalid is not None:
        return invalid + completion(invalid)
    return encode({} if value is None else value).decode()


def completion(text: str) -> str:
    """The suffix that makes JSON of a truncated text; nothing if there is none.

    Clients parse the arguments of a call: half of an object would raise an error there.
    """
    if _is_json(text):
        return ""
    brackets = _open_brackets(text)
    for filler in _FILLERS:
        if _is_json(text + filler + brackets):
            return filler + brackets
    return ""


def is_same(streamed: str, complete: str) -> bool:
    """Whether two texts are the same JSON."""
    if streamed == complete:
        return True
    try:
        return bool(_decode(streamed) == _decode(complete))
    except (ValueError, RecursionError):
        return False


def _open_brackets(text: str) -> str:
    """The closing brackets that `text` lacks."""
    closers: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in _CLOSERS:
            closers.append(_CLOSERS[character])
        elif closers and character == closers[-1]:
            closers.pop()
    return "".join(reversed(closers))


def _is_json(text: str) -> bool:
    try:
        _decode(text)
    except (ValueError, RecursionError):
        return False
    return True
