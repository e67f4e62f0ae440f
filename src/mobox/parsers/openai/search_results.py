"""Citations of an answer and results of hosted tools: SOURCE and FILE."""

from __future__ import annotations

from typing import Any

from mobox.events import JSON, File, Scope, Source
from mobox.parsers.json_values import file_data, text_in

__all__ = ["cite", "file_of", "media_type_of", "page_of", "without_images"]

_LOCATION = ("start_index", "end_index", "index", "container_id", "file_citation", "page")
_BYTES = "data:"


def cite(block: str | None, scope: Scope, annotation: dict[str, JSON]) -> Source | None:
    """An annotation of a text: a page, or a file; some providers nest it under its own type."""
    nested = annotation.get(str(annotation.get("type")))
    fields = nested if isinstance(nested, dict) else annotation
    url, name = text_in(fields, "url"), text_in(fields, "filename")
    file = text_in(fields, "file_id")
    title = text_in(fields, "title") or name
    if url is None and file is None and title is None:
        return None
    location = {key: fields[key] for key in _LOCATION if fields.get(key) is not None}
    return Source(
        id=block,
        scope=scope,
        url=url,
        document=name,
        file=file,
        title=title,
        cited_text=text_in(fields, "content", "quote"),
        location=location or None,
    )


def page_of(name: str | None, scope: Scope, page: JSON) -> Source | None:
    """A page or a document that was found; a bare address too."""
    if isinstance(page, str):
        return Source(id=name, scope=scope, url=page) if page else None
    if not isinstance(page, dict):
        return None
    url = text_in(page, "url", "link")
    file, title = text_in(page, "file_id"), text_in(page, "title", "filename")
    if url is None and file is None:
        return None
    score = page.get("score")
    return Source(
        id=name,
        scope=scope,
        url=url,
        file=file,
        title=title,
        cited_text=text_in(page, "text", "content"),
        score=score if isinstance(score, int | float) and not isinstance(score, bool) else None,
    )


def file_of(name: str | None, scope: Scope, url: str) -> File:
    """A file by its address, which may be the file itself."""
    if (inline := file_data(url)) is not None:
        media_type, data = inline
        return File(id=name, scope=scope, media_type=media_type or "image/png", base64=data)
    return File(id=name, scope=scope, media_type="image/*", url=url)


def media_type_of(output_format: JSON) -> str:
    """The media type of an image in a format of this name."""
    return f"image/{output_format}" if isinstance(output_format, str) else "image/png"


def without_images(name: str | None, scope: Scope, output: JSON) -> tuple[JSON, list[File]]:
    """A tool's output with its images taken out, and those."""
    parts: list[Any] = output if isinstance(output, list) else [output]
    kept, files = [], []
    for part in parts:
        address = part.get("image_url", part.get("url")) if isinstance(part, dict) else None
        if isinstance(address, str) and address.startswith(_BYTES):
            file = file_of(name, scope, address)
            files.append(file)
            kept.append({"type": part.get("type"), "media_type": file.media_type})
        else:
            kept.append(part)
    return (kept if isinstance(output, list) else kept[0]), files
