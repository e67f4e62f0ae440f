"""The routes for files: upload, download, delete.

Rule 1: a body is stored as it arrives, and never as a whole in memory.
Rule 2: a browser shows nothing of it that could run a script: the type is one of a short list, and
        is not guessed; everything else is a download.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final, NamedTuple
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp

from mobox.server.auth.principal import owner_of
from mobox.server.files.links import SIGNATURE, Links, links_for
from mobox.server.files.multipart import FORM, MultipartFile, boundary_of
from mobox.server.services import Services, json_response
from mobox.storage.files import StoredFile, clean_name
from mobox.storage.media_types import served_as

_RANGE: Final = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")
_SAFE: Final = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "accept-ranges": "bytes",
    "cache-control": "private, max-age=86400, immutable",
    "vary": "authorization, cookie",
}
_FOR_ANY_PAGE: Final = {"cross-origin-resource-policy": "cross-origin"}


class FileView(Struct, rename="camel", kw_only=True):
    """A stored file; also a `file` part of a message of the AI SDK."""

    type: str = "file"
    id: str
    url: str
    media_type: str
    filename: str | None
    size: int

    @classmethod
    def of(cls, file: StoredFile, links: Links) -> FileView:
        return cls(
            id=file.id,
            url=links.url(file.id),
            media_type=file.media_type,
            filename=file.name,
            size=file.size,
        )


class _Upload(NamedTuple):
    pieces: AsyncIterator[bytes]
    media_type: str
    name: str | None


async def upload_file(request: Request, services: Services) -> Response:
    """Store a file: the one of a form, or the whole body."""
    owner, files = owner_of(request), services.storage.files
    upload = await _upload_of(request)
    stored = await files.add(owner, *upload)
    named = replace(stored, name=clean_name(upload.name) or stored.name)  # not as it was before
    return json_response(FileView.of(named, await links_for(request, files)), 201)


async def _upload_of(request: Request) -> _Upload:
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != FORM:
        return _Upload(request.stream(), content_type, request.query_params.get("name"))
    form, body = MultipartFile(boundary_of(content_type)), request.stream()
    first = b""
    async for piece in body:
        first = form.feed(piece)
        if form.part is not None:
            break
    if form.part is None:
        form.finish()
    assert form.part is not None
    return _Upload(_rest_of(form, first, body), form.part.media_type, form.part.name)


async def _rest_of(
    form: MultipartFile, first: bytes, body: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    yield first
    async for piece in body:
        yield form.feed(piece)
    form.finish()


async def download_file(request: Request, services: Services) -> ASGIApp:
    """A file, or a range of it."""
    files = services.storage.files
    file = await files.find(owner_of(request), request.path_params["file_id"])
    headers = _headers(file, is_signed=SIGNATURE in request.query_params)
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    status, part = 200, _requested(request, file)
    if part is None:
        part = _Bytes(0, file.size)
    elif part.start >= part.end:
        return Response(status_code=416, headers={"content-range": f"bytes */{file.size}"})
    else:  # also for the whole file: Safari plays nothing that ignores its ranges
        status = 206
        headers["content-range"] = f"bytes {part.start}-{part.end - 1}/{file.size}"
    headers["content-length"] = str(part.end - part.start)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(files.read(file, *part), status, headers)


async def delete_file(request: Request, services: Services) -> Response:
    """Delete a file that no chat names."""
    await services.storage.files.delete(owner_of(request), request.path_params["file_id"])
    return Response(status_code=204)


def _headers(file: StoredFile, *, is_signed: bool) -> dict[str, str]:
    content_type, is_inline = served_as(file.media_type)
    name = quote(file.name or file.id, safe="")
    shown = "inline" if is_inline else "attachment"
    headers = {
        **_SAFE,
        "content-type": content_type,
        "content-disposition": f"{shown}; filename*=UTF-8''{name}",
        "etag": f'"{file.id}"',
    }
    # A signature is a permission for whoever has it; else the guard knows which pages may show it.
    return {**headers, **(_FOR_ANY_PAGE if is_signed else {})}


class _Bytes(NamedTuple):
    start: int
    end: int


def _requested(request: Request, file: StoredFile) -> _Bytes | None:
    """The requested range, which is empty if the file has none of it; `None` without a range."""
    match = _RANGE.fullmatch(request.headers.get("range", ""))
    if match is None or request.headers.get("if-range", f'"{file.id}"') != f'"{file.id}"':
        return None
    first, last, length = match.groups()
    if length is not None:
        return _Bytes(max(0, file.size - int(length)), file.size)
    if last and int(last) < int(first):
        return None  # not a range: to be ignored
    return _Bytes(int(first), min(file.size, int(last) + 1 if last else file.size))
