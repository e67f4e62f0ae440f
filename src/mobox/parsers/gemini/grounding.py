"""Sources of Gemini's answers: searched pages, retrieved files, recited texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import convert

from mobox.events import JSON, Scope, Source, Status, StreamEvent
from mobox.parsers.gemini import wire
from mobox.parsers.json_values import is_link

__all__ = ["cited", "fetched", "grounded"]

_FETCHED: Final = "URL_RETRIEVAL_STATUS_SUCCESS"


def grounded(metadata: JSON, text: str | None, scope: Scope) -> Iterator[StreamEvent]:
    """A citation for each passage and each of its sources, then the sources that no passage has."""
    grounding = convert(metadata, wire.Grounding)
    chunks = grounding.grounding_chunks or []
    supported: set[int] = set()
    for support in grounding.grounding_supports or ():
        for place, index in enumerate(support.grounding_chunk_indices or ()):
            if 0 <= index < len(chunks):
                supported.add(index)
                passage = {**_passage(support.segment), "confidence": _at(support, place)}
                yield _source(chunks[index], text, scope, passage)
    for index, chunk in enumerate(chunks):
        if index not in supported:
            yield _source(chunk, text, scope, {})


def cited(metadata: JSON, text: str | None, scope: Scope) -> Iterator[StreamEvent]:
    """Recited texts and their sources."""
    citations = convert(metadata, wire.Citations)
    for each in citations.citations or citations.citation_sources or ():
        place = {"startIndex": each.start_index, "endIndex": each.end_index}
        about = {**place, "license": each.license}
        yield Source(
            id=text,
            scope=scope,
            url=_link(each.uri),
            document=None if _link(each.uri) else each.uri,
            title=each.title,
            location=_known(about),
        )


def fetched(metadata: JSON, scope: Scope) -> Iterator[StreamEvent]:
    """The pages of URLs in the prompt that were read."""
    for page in convert(metadata, wire.UrlContext).url_metadata or ():
        if page.url_retrieval_status in (None, _FETCHED):
            yield Source(scope=scope, url=page.retrieved_url)
        else:
            message = f"Could not read {page.retrieved_url}: {page.url_retrieval_status}"
            yield Status(scope=scope, message=message, kind="notice")


def _source(
    chunk: wire.GroundingChunk, text: str | None, scope: Scope, passage: dict[str, JSON]
) -> Source:
    found = chunk.web or chunk.retrieved_context or chunk.maps or wire.Web()
    link = _link(found.uri)
    document = None if link else found.uri or found.file_search_store or found.title
    if chunk.image is not None:
        passage = {**passage, "location": {**(passage.get("location") or {}), "image": chunk.image}}
    return Source(
        id=text,
        scope=scope,
        url=link,
        document=document,
        title=found.title,
        cited_text=passage.get("cited_text", found.text if document else None),
        location=passage.get("location"),
        confidence=passage.get("confidence"),
    )


def _passage(segment: wire.Segment | None) -> dict[str, JSON]:
    if segment is None:
        return {}
    place = {
        "startIndex": segment.start_index,
        "endIndex": segment.end_index,
        "partIndex": segment.part_index,
    }
    return {"cited_text": segment.text, "location": _known(place)}


def _at(support: wire.GroundingSupport, place: int) -> float | None:
    scores = support.confidence_scores or []
    return scores[place] if place < len(scores) else None


def _link(uri: str | None) -> str | None:
    return uri if uri is not None and is_link(uri) else None


def _known(about: dict[str, JSON]) -> dict[str, JSON] | None:
    return {name: value for name, value in about.items() if value is not None} or None
