"""What messages cite, and the images and files that they and the results of tools carry."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, File, Source, StreamEvent

__all__ = ["cite", "file_in", "found", "without_files", "without_secrets"]

Object = dict[str, JSON]
Scope = tuple[str, ...]

_TYPES: Final = {
    "image": "image/png",
    "image_url": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
    "text-plain": "text/plain",
}
"""The blocks that carry data, and what that is where nobody says."""

_TOLD: Final = {
    *("type", "id", "url", "title", "cited_text", "source", "document_title", "file_id"),
    *("encrypted_index", "extras"),
}
_SECRET: Final = "encrypted_"


def cite(block_id: str, scope: Scope, citation: Object, vendor: str) -> Source:
    """A citation of a text block, in LangChain's words or in the provider's own."""
    told = {**citation, **_object(citation.get("extras")), **_object(citation.get("value"))}
    link = _text(told, "url") or _text(told, "source") or ""
    is_url = link.startswith(("http://", "https://"))
    document = _text(told, "document_title")
    secret = {name: told[name] for name in told if name.startswith(_SECRET) and told[name]}
    places = {k: v for k, v in told.items() if k not in _TOLD and k != "value" and v is not None}
    return Source(
        id=block_id,
        scope=scope,
        url=link if is_url else None,
        document=document if is_url or not link else link,
        file=_text(told, "file_id"),
        title=_text(told, "title") or document,
        cited_text=_text(told, "cited_text"),
        location={k: v for k, v in places.items() if not k.startswith(_SECRET)} or None,
        provider={vendor: secret} if secret else None,
    )


def found(call_id: str, scope: Scope, output: JSON) -> list[StreamEvent]:
    """The pages that a provider's own search names."""
    items = output if isinstance(output, list) else [output]
    urls = [(item, item.get("url")) for item in items if isinstance(item, dict)]
    return [
        Source(id=call_id, scope=scope, url=url, title=_text(item, "title"))
        for item, url in urls
        if isinstance(url, str)
    ]


def file_in(block: Object, name: str | None, scope: Scope) -> File | None:
    """The file that a block of content is; `None` where it is none that we can name."""
    kind = str(block.get("type"))
    if kind not in _TYPES:
        return None
    source = _object(block.get("source"))
    url = _text(block, "url") or _text(_object(block.get("image_url")), "url")
    url = url or _text(block, "image_url") or _text(source, "url")
    data = _text(block, "base64") or _text(block, "data") or _text(source, "data")
    media_type = _text(block, "mime_type") or _text(source, "media_type") or _TYPES[kind]
    file_id = _text(block, "file_id") or _text(source, "file_id")
    if url is not None and url.startswith("data:") and ";base64," in url:
        head, _, data = url.partition(";base64,")
        url, media_type = None, head.removeprefix("data:") or media_type
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


def without_secrets(value: JSON, path: str = "") -> tuple[JSON, Object]:
    """`value` without its encrypted members, and those by their JSON pointer."""
    if isinstance(value, list):
        pairs = [without_secrets(each, f"{path}/{n}") for n, each in enumerate(value)]
        return [clean for clean, _ in pairs], {k: v for _, more in pairs for k, v in more.items()}
    if not isinstance(value, dict):
        return value, {}
    clean: Object = {}
    secrets: Object = {}
    for key, each in value.items():
        if key.startswith(_SECRET) and each is not None:
            secrets[f"{path}/{key}"] = each
        else:
            clean[key], inner = without_secrets(each, f"{path}/{key}")
            secrets |= inner
    return clean, secrets


def _object(value: JSON) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: Object, name: str) -> str | None:
    text = value.get(name)
    return text if isinstance(text, str) and text else None
