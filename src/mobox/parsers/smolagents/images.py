"""Images that a step observed or returned, in the forms that a JSON value can have."""

from __future__ import annotations

import re
from typing import Final

from mobox.events import JSON, File
from mobox.parsers.json_values import file_data, text_in

__all__ = ["file_of"]

_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


def file_of(image: JSON, name: str | None, scope: tuple[str, ...] = ()) -> File | None:
    """The file that `image` is: a data URL, base64 text, or an object with its bytes or its URL."""
    if isinstance(image, str):
        inline = file_data(image)
        if inline is None and not _BASE64.fullmatch(image):
            return None
        kind, base64 = inline or ("", image)
        return File(id=name, scope=scope, media_type=kind or "image/png", base64=base64)
    if not isinstance(image, dict):
        return None
    media_type = text_in(image, "media_type", "mime_type", "mimeType") or "image/png"
    data, url = text_in(image, "base64", "data"), text_in(image, "url")
    if data is None and url is None:
        return None
    return File(id=name, scope=scope, media_type=media_type, base64=data, url=url)
