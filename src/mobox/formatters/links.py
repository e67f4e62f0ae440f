"""Which addresses a page may open: what it makes links and images of must not run in it.

No protocol decides this on its own: one that let `javascript:` pass would let an agent's source act
for whoever clicks it.
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
    """The page that a source is; `None` if it has none that may be opened."""
    return source.url if source.url and source.url.lower().startswith(_LINKS) else None


def document_of(source: Source) -> str | None:
    """What a source is called that is no page, which may be an address that is no link."""
    return source.document if link_of(source) else source.document or source.url


def address_of(file: File) -> str | None:
    """Where a page finds a file, or the file itself; `None` if only its provider can fetch it."""
    if file.url and file.url.lower().startswith(_FILES):
        return file.url
    if file.base64 and _MEDIA_TYPE.fullmatch(file.media_type):
        return f"data:{file.media_type};base64,{file.base64}"
    return None
