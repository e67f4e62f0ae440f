"""Citations of messages, and images and files of messages and tool results."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, File, Scope, Source, StreamEvent
from mobox.parsers.json_values import file_data, is_link, object_of, text_in
from mobox.parsers.server_tools import SECRET

__all__ = ["cite", "file_in", "without_files"]

Object = dict[str, JSON]

_TYPES: Final = {
    "image": "image/png",
    "image_url": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
    "text-plain": "text/plain",
}
"""The types of blocks with data, and their default media types."""

_KNOWN_FIELDS: Final = {
    *("type", "id", "url", "title", "cited_text", "source", "document_title", "file_id"),
    *("encrypted_index", "extras"),
}


def cite(block_id: str, scope: Scope, citation: Object, vendor: str) -> Source:
    """A citation of a text block, with LangChain's or the provider's keys."""
    fields = {**citation, **object_of(citation.get("extras")), **object_of(citation.get("value"))}
    link = text_in(fields, "url", "source") or ""
    is_url = is_link(link)
    document = text_in(fields, "document_title")
    secret = {name: fields[name] for name in fields if name.startswith(SECRET) and fields[name]}
    places = {
        k: v for k, v in fields.items() if k not in _KNOWN_FIELDS and k != "value" and v is not None
    }
    return Source(
        id=block_id,
        scope=scope,
        url=link if is_url else None,
        document=document if is_url or not link else link,
        file=text_in(fields, "file_id"),
        title=text_in(fields, "title") or document,
        cited_text=text_in(fields, "cited_text"),
        location={k: v for k, v in places.items() if not k.startswith(SECRET)} or None,
        provider={vendor: secret} if secret else None,
    )


def file_in(block: Object, name: str | None, scope: Scope) -> File | None:
    """The file of a content block; `None` if it has none that can be referenced."""
    kind = str(block.get("type"))
    if kind not in _TYPES:
        return None
    source = object_of(block.get("source"))
    url = text_in(block, "url") or text_in(object_of(block.get("image_url")), "url")
    url = url or text_in(block, "image_url") or text_in(source, "url")
    data = text_in(block, "base64", "data") or text_in(source, "data")
    media_type = text_in(block, "mime_type") or text_in(source, "media_type") or _TYPES[kind]
    file_id = text_in(block, "file_id") or text_in(source, "file_id")
    if url is not None and (inline := file_data(url)) is not None:
        url, media_type, data = None, inline[0] or media_type, inline[1]
    if not (url or data or file_id):
        return None
    return File(id=name, scope=scope, media_type=media_type, url=url, base64=data, file_id=file_id)


def without_files(content: JSON, name: str | None, scope: Scope) -> tuple[JSON, list[StreamEvent]]:
    """A tool's output with the images and files taken out, and those."""
    if not isinstance(content, list):
        return content, []
    kept: list[JSON] = []
    files: list[StreamEvent] = []
    for block in content:
        file = file_in(block, name, scope) if isinstance(block, dict) else None
        if file is None:
            kept.append(block)
        else:
            files.append(file)
            kept.append({"type": block["type"], "media_type": file.media_type})
    return kept, files
