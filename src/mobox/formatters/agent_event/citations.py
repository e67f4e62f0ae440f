"""What a text rests on, as the contract's citations."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, Source

__all__ = ["citation"]

_LINKS: Final = ("http://", "https://")


def citation(source: Source) -> dict[str, JSON]:
    """A source; a page makes a link of `url`, so that is never anything that could run in it."""
    is_link = source.url is not None and source.url.lower().startswith(_LINKS)
    about = {
        "cited_text": source.cited_text,
        "title": source.title,
        "url": source.url if is_link else None,
        "document": source.document if is_link else source.document or source.url,
        "file": source.file,
        "location": source.location,
        "score": source.score,
        "confidence": source.confidence,
    }
    return {name: value for name, value in about.items() if value is not None}
