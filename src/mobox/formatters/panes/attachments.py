"""Metadata of files and sources for the panes."""

from __future__ import annotations

from mobox.events import JSON, File, Source
from mobox.formatters.links import address_of, link_of

__all__ = ["file_about", "link_about"]


def link_about(event: Source) -> dict[str, JSON]:
    """Fields of a source, beside its name."""
    return {"title": "🔗 Source", "url": link_of(event), "cited_text": event.cited_text}


def file_about(event: File) -> dict[str, JSON]:
    """Fields of a file, beside its name."""
    is_image = event.media_type.startswith("image/")
    return {
        "title": "🖼️ Output Image" if is_image else "📎 Output File",
        "media_type": event.media_type,
        "url": address_of(event),
        "file_id": event.file_id,
    }
