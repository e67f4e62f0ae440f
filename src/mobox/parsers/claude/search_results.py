"""Citations of Claude's messages, and results of its server tools."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import convert

from mobox.events import JSON, File, Scope, Source, StreamEvent
from mobox.parsers.claude import wire
from mobox.parsers.json_values import is_link

__all__ = ["VENDOR", "cite", "found", "uploaded"]

VENDOR = "anthropic"
"""The key of `provider` under which this vendor's state is kept."""

_KNOWN_FIELDS = {*wire.Citation.__struct_fields__} - {"type", "document_index"}


def cite(block_id: str, scope: Scope, citation: dict[str, JSON]) -> Source:
    """A citation of a text block."""
    cited = convert(citation, wire.Citation)
    link = cited.url or cited.source or ""
    is_url = is_link(link)
    secret = {"encrypted_index": cited.encrypted_index} if cited.encrypted_index else None
    return Source(
        id=block_id,
        scope=scope,
        url=link if is_url else None,
        document=cited.document_title if is_url or not link else link,
        file=cited.file_id,
        title=cited.title or cited.document_title,
        cited_text=cited.cited_text,
        location={k: v for k, v in citation.items() if k not in _KNOWN_FIELDS and v is not None},
        provider={VENDOR: secret} if secret else None,
    )


def found(tool_id: str, scope: Scope, output: JSON) -> list[StreamEvent]:
    """The pages and files that a server tool's output names."""
    events: list[StreamEvent] = []
    for item in _objects(output):
        if isinstance(url := item.get("url"), str):
            events.append(Source(id=tool_id, scope=scope, url=url, title=_title(item)))
        files = [made.get("file_id") for made in _objects(item.get("content"))]
        events += [uploaded(tool_id, scope, name) for name in files if isinstance(name, str)]
    return events


def uploaded(name: str, scope: Scope, file_id: str) -> File:
    """A file in the container; the API has neither its type nor its name."""
    return File(id=name, scope=scope, media_type="application/octet-stream", file_id=file_id)


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _title(item: dict[str, JSON]) -> str | None:
    for holder in (item, *_objects(item.get("content"))):
        if isinstance(title := holder.get("title"), str):
            return title
    return None
