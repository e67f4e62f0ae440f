"""Images that a step observed or an answer is, in the forms in which they can be a JSON value."""

from __future__ import annotations

import re
from typing import Final

from mobox.events import JSON, File

__all__ = ["file_of"]

_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.+)", re.DOTALL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_BYTES: Final = ("base64", "data")
_TYPES: Final = ("media_type", "mime_type", "mimeType")


def file_of(image: JSON, name: str | None, scope: tuple[str, ...] = ()) -> File | None:
    """The file that `image` is: a data URL, base64 text, or an object with its bytes or its URL."""
    if isinstance(image, str):
        found = _DATA_URL.fullmatch(image)
        media_type, data = found.groups() if found else ("image/png", image)
        if not found and not _BASE64.fullmatch(image):
            return None
        return File(id=name, scope=scope, media_type=media_type, base64=data)
    if not isinstance(image, dict):
        return None
    media_type = _first(image, _TYPES) or "image/png"
    data, url = _first(image, _BYTES), _first(image, ("url",))
    if data is None and url is None:
        return None
    return File(id=name, scope=scope, media_type=media_type, base64=data, url=url)


def _first(image: dict[str, JSON], names: tuple[str, ...]) -> str | None:
    words = (image.get(name) for name in names)
    return next((word for word in words if isinstance(word, str) and word), None)
