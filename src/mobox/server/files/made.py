"""The routes for files that agents made in the state folder of a chat: a list, and each of them.

Rule 1: a browser shows nothing of them that could run a script (`served_as`), and what it shows is
        in a sandbox without an origin.
Rule 2: what is hidden may hold secrets of an agent or of its framework: it is for those who may see
        the details of errors, such as stderr.
Rule 3: a file may change while it is sent: what is sent is what was there when it was opened, as
        far as it still is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp

from mobox.errors import InvalidRequest, NotPermitted
from mobox.server.auth.principal import owner_of, sees_details
from mobox.server.services import Services, json_response
from mobox.storage.media_types import served_as
from mobox.supervisor.made_files import MadeFile, OpenFile, is_hidden

_PIECE: Final = 256 << 10
_SAFE: Final = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, no-cache",
    "vary": "authorization, cookie",
}
_YES: Final = {"1": True, "": False, "0": False}


class MadeFileRow(Struct, rename="camel", kw_only=True):
    """A file that an agent made."""

    path: str
    size: int
    modified_at: int
    media_type: str


class MadeFileList(Struct, rename="camel", kw_only=True):
    """The files of a chat, the newest first."""

    files: list[MadeFileRow]
    complete: bool
    """Whether these are all."""
    available: bool
    """False where agents run on other machines, which have the files."""


async def list_made_files(request: Request, services: Services) -> Response:
    """The files that agents made in a chat."""
    hidden = _YES.get(request.query_params.get("hidden", ""))
    if hidden is None:
        raise InvalidRequest("hidden", "expected 1 or 0")
    _check(request, services, hidden=hidden)
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    found = await services.supervisor.files.list(owner, chat_id, hidden=hidden)
    rows = list(map(_row, found.files))
    return json_response(
        MadeFileList(files=rows, complete=found.is_complete, available=found.is_here)
    )


async def read_made_file(request: Request, services: Services) -> ASGIApp:
    """One file that an agent made."""
    path = request.query_params.get("path")
    if not path:
        raise InvalidRequest("path", "expected the path of a file, got none")
    _check(request, services, hidden=is_hidden(path))
    owner, chat_id = owner_of(request), request.path_params["chat_id"]
    opened = await services.supervisor.files.open(owner, chat_id, path)
    headers = _headers(opened)
    if headers["etag"] in request.headers.get("if-none-match", ""):
        opened.file.close()
        return Response(status_code=304, headers=headers)
    if request.method == "HEAD":
        opened.file.close()
        return Response(headers=headers)
    return StreamingResponse(_pieces(opened), headers=headers)


def _check(request: Request, services: Services, *, hidden: bool) -> None:
    if hidden and not sees_details(request, services.settings):
        raise NotPermitted("operate")


def _row(file: MadeFile) -> MadeFileRow:
    return MadeFileRow(**file._asdict())


def _headers(opened: OpenFile) -> dict[str, str]:
    content_type, is_inline = served_as(opened.about.media_type)
    name = quote(opened.about.path.rpartition("/")[2], safe="")
    shown = "inline" if is_inline else "attachment"
    return {
        **_SAFE,
        "content-type": content_type,
        "content-disposition": f"{shown}; filename*=UTF-8''{name}",
        "etag": f'"{opened.tag}"',
    }


async def _pieces(opened: OpenFile) -> AsyncIterator[bytes]:
    left = opened.about.size
    try:
        while left > 0:
            piece = await asyncio.to_thread(opened.file.read, min(left, _PIECE))
            if not piece:
                return
            left -= len(piece)
            yield piece
    finally:
        opened.file.close()
