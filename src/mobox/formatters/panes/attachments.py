"""What the panes are told of files and sources."""

from __future__ import annotations

from mobox.events import JSON, File, Source
from mobox.formatters.links import address_of, link_of

__all__ = ["file_about", "link_about"]


def link_about(event: Source) -> dict[str, JSON]:
    """What a source is, beside its name."""
    return {"title": "🔗 Source", "url": link_of(event), "cited_text": event.cited_text}


def file_about(event: File) -> dict[str, JSON]:
    """What a file is, beside its name."""
    is_image = event.media_type.startswith("image/")
    return {
        "title": "🖼️ Output Image" if is_image else "📎 Output File",
        "media_type": event.media_type,
        "url": address_of(event),
        "file_id": event.file_id,
    }
