"""The sources of a text, as the contract's citations."""

from __future__ import annotations

from mobox.events import JSON, Source
from mobox.formatters.fields import known
from mobox.formatters.links import document_of, link_of

__all__ = ["citation"]


def citation(source: Source) -> dict[str, JSON]:
    """A source."""
    about = {
        "cited_text": source.cited_text,
        "title": source.title,
        "url": link_of(source),
        "document": document_of(source),
        "file": source.file,
        "location": source.location,
        "score": source.score,
        "confidence": source.confidence,
    }
    return known(about)
