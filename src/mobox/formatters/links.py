"""Which URLs a page may open: links and images must not execute code in it.

All protocols share this: a `javascript:` URL from an agent's source would run as the user who
clicks it.
"""

from __future__ import annotations

import re
from typing import Final

from mobox.events import File, Source

__all__ = ["address_of", "document_of", "link_of"]

_LINKS: Final = ("http://", "https://")
_FILES: Final = (*_LINKS, "data:", "blob:")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+")


def link_of(source: Source) -> str | None:
    """The URL of a source; `None` if it has none that may be opened."""
    return source.url if source.url and source.url.lower().startswith(_LINKS) else None


def document_of(source: Source) -> str | None:
    """The name of a source without a link; it may be a URL that must not be opened."""
    return source.document if link_of(source) else source.document or source.url


def address_of(file: File) -> str | None:
    """The URL of a file, or the file itself; `None` if only its provider can fetch it."""
    if file.url and file.url.lower().startswith(_FILES):
        return file.url
    if file.base64 and _MEDIA_TYPE.fullmatch(file.media_type):
        return f"data:{file.media_type};base64,{file.base64}"
    return None
