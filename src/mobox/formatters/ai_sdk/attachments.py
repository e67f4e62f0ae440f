"""Sources and files: the parts of a message that come in one chunk."""

from __future__ import annotations

from mobox.events import JSON, File, Source
from mobox.formatters.ai_sdk.chunks import chunk, data, scope
from mobox.formatters.fields import known
from mobox.formatters.links import address_of, link_of

__all__ = ["file", "source"]


def source(event: Source, source_id: str) -> bytes:
    """A page or a document; `mobox.for` is the text or the tool call that it belongs to."""
    about = {
        "for": event.id,
        "citedText": event.cited_text,
        "location": event.location,
        "file": event.file,
        "score": event.score,
        "confidence": event.confidence,
    }
    metadata = _metadata(known(about) | scope(event))
    common: dict[str, JSON] = {"sourceId": source_id, "providerMetadata": metadata}
    if (link := link_of(event)) is not None:
        return chunk("source-url", url=link, title=event.title, **common)
    title = event.title or event.document or event.file or event.url or "Source"
    # The client requires a media type, and no framework sends one.
    return chunk("source-document", mediaType="text/plain", title=title, **common)


def file(event: File, with_metadata: bool = True) -> bytes:
    """A file with its address or its bytes; one that only the provider can fetch is data."""
    about = known({"name": event.name, "size": event.size})
    url = address_of(event)
    if url is None:
        more = known(
            {"mediaType": event.media_type, "fileId": event.file_id, "url": event.url or None}
        )
        return data("file", more | about | scope(event))
    metadata = _metadata(about | scope(event)) if with_metadata else None
    return chunk("file", url=url, mediaType=event.media_type, providerMetadata=metadata)


def _metadata(mobox: dict[str, JSON]) -> dict[str, JSON] | None:
    return {"mobox": mobox} if mobox else None
