"""What the panes are told of files and sources: a page opens a `url`, so none may run in it."""

from __future__ import annotations

import re
from typing import Final

from mobox.events import JSON, File, Source

__all__ = ["file_about", "link_about"]

_LINKS: Final = ("http://", "https://")
_FILES: Final = (*_LINKS, "data:", "blob:")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+")


def link_about(event: Source) -> dict[str, JSON]:
    """What a source is, beside its name."""
    url = event.url if event.url and event.url.lower().startswith(_LINKS) else None
    return {"title": "🔗 Source", "url": url, "cited_text": event.cited_text}


def file_about(event: File) -> dict[str, JSON]:
    """What a file is, beside its name."""
    is_image = event.media_type.startswith("image/")
    return {
        "title": "🖼️ Output Image" if is_image else "📎 Output File",
        "media_type": event.media_type,
        "url": _url(event),
        "file_id": event.file_id,
    }


def _url(event: File) -> str | None:
    if event.url and event.url.lower().startswith(_FILES):
        return event.url
    if event.base64 and _MEDIA_TYPE.fullmatch(event.media_type):
        return f"data:{event.media_type};base64,{event.base64}"
    return None
