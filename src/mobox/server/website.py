"""The built page: the files that `make web` made, as browsers get them.

Rule 1: a file is found by its name in a table that was read once, so that no path leads outside.
Rule 2: what has a hash in its name is kept for ever, all else is asked for again by its ETag.
Rule 3: files are read and compressed in a thread, once, when the server starts or somebody asks.
Rule 4: the page says where it is mounted; all its addresses are relative to that.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import html
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["FOLDER", "Website"]

FOLDER: Final = Path(__file__).parent / "web"

_PAGE: Final = "index.html"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""Not what the machine's own table says: a browser runs no module of another type."""

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
_PAGE_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_BASE: Final = re.compile(rb'<base href="[^"]*"')
_SMALL: Final = 1024
"""Bytes that come in one packet anyway."""

_NOT_BUILT: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Mobox</title>"
    "<h1>The page has not been built</h1>"
    "<p>Run <code>make web</code> in the repository (it needs Node), and load this again. "
    'The server works without it: see <a href="{base}docs">its interface</a>.</p>'
)


class _Served(NamedTuple):
    """What is sent, and the name of exactly these bytes."""

    body: bytes
    etag: str


class _File(NamedTuple):
    media_type: str
    cache: str
    plain: _Served
    gzipped: _Served | None
    """None where it would save nothing."""

    def for_request(self, request: Request) -> Response:
        accepted = ",".join(request.headers.getlist("accept-encoding"))
        gzipped = self.gzipped if _accepts_gzip(accepted) else None
        body, etag = gzipped or self.plain
        headers = {"cache-control": self.cache, "etag": etag}
        if self.gzipped:
            headers["vary"] = "accept-encoding"
        if _has(request, etag):
            return Response(status_code=304, headers=headers)
        if gzipped:
            headers["content-encoding"] = "gzip"
        return Response(body, headers={**headers, "content-type": self.media_type})


Files = Mapping[str, _File]


class Website:
    """The page and what it is made of."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._reading: asyncio.Task[Files] | None = None

    def prepare(self) -> None:
        """Begin to read the files; who asks meanwhile waits for it."""
        if self._reading is None:
            self._reading = asyncio.create_task(asyncio.to_thread(_read, self._folder))

    async def page(self, request: Request) -> Response:
        """The page, which shows whatever its address says."""
        base = "/" + quote(request.scope.get("root_path", "").strip("/") + "/").lstrip("/")
        page = (await self._files()).get(_PAGE)
        if page is None:
            told = _NOT_BUILT.format(base=html.escape(base))
            return Response(told, 503, {"cache-control": "no-store"}, media_type="text/html")
        response = _mounted(page.plain.body, base).for_request(request)
        response.headers.update(_PAGE_HEADERS)
        return response

    async def file(self, request: Request) -> Response:
        """A file beside the page."""
        return await self.named(request.path_params["name"], request)

    async def asset(self, request: Request) -> Response:
        """A file that the build named after its content."""
        return await self.named(f"assets/{request.path_params['name']}", request)

    async def icon(self, request: Request) -> Response:
        """What browsers ask for without being told."""
        return await self.named("icon.svg", request)

    async def named(self, name: str, request: Request) -> Response:
        """The file of this name; only `page` answers for the page itself."""
        file = (await self._files()).get(name)
        if file is None or name == _PAGE:
            raise HTTPException(404, headers={"cache-control": "no-store"})
        return file.for_request(request)

    async def _files(self) -> Files:
        self.prepare()
        assert self._reading is not None
        files: Files = {}
        try:
            files = await asyncio.shield(self._reading)
        finally:
            if not files:  # perhaps they are made meanwhile
                self._reading = None
        return files


def _read(folder: Path) -> Files:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: _file(name, path.read_bytes()) for name, path in names.items()}


def _file(name: str, body: bytes) -> _File:
    etag = hashlib.sha256(body).hexdigest()[:20]
    # Without a time in it, so that it has the same bytes wherever it is made.
    small = gzip.compress(body, mtime=0) if len(body) > _SMALL else body
    return _File(
        media_type=_TYPES.get(Path(name).suffix, "application/octet-stream"),
        cache=_FOR_EVER if name.startswith("assets/") else _ASK_AGAIN,
        plain=_Served(body, f'"{etag}"'),
        gzipped=_Served(small, f'"{etag}-gzip"') if len(small) < len(body) else None,
    )


def _accepts_gzip(header: str) -> bool:
    """Whether it is listed, by its name or by `*`, and not with the weight of nothing."""
    accepted: dict[str, bool] = {}
    for told in header.split(","):
        name, _, weight = told.replace(" ", "").lower().partition(";q=")
        accepted[name] = re.fullmatch(r"0(\.0*)?", weight) is None
    return accepted.get("gzip", accepted.get("*", False))


def _has(request: Request, etag: str) -> bool:
    told = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    return "*" in told or etag in (each.removeprefix("W/") for each in told)


@lru_cache(maxsize=8)
def _mounted(page: bytes, base: str) -> _File:
    """The page where it is mounted, compressed once for each such place."""
    tag = f'<base href="{html.escape(base)}"'.encode()
    return _file(_PAGE, _BASE.sub(lambda _: tag, page, count=1))
