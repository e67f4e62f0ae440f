"""Serves the built page: the files that `make web` made.

Rule 1: files are looked up by name in a table that was read once, so no path leads outside.
Rule 2: files with a hash in their name are cached for ever, others are revalidated by their ETag.
Rule 3: files are read and compressed once, in a thread, at startup or at the first request.
Rule 4: the page's `<base>` is where it is mounted; all its URLs are relative to that.
Rule 5: no page may be framed, but that of `embed`, by the origins in a setting. What is not
        embeddable is not there: neither that page nor its script.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mobox.server.brand import Brand
from mobox.server.errors import error_response

FOLDER: Final = Path(__file__).parent / "web"

_PAGE: Final = "index.html"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Instead of the machine's table: browsers refuse to run modules of another media type."""

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_REVALIDATE: Final = "no-cache"
_FRAMED: Final = "frame-ancestors 'none'"
_PAGE_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; "
    # PDFs are shown by the browser. Pages of agents are `srcdoc`, with a stricter policy.
    "frame-src 'self' blob:; connect-src 'self'; "
    f"base-uri 'self'; form-action 'self'; {_FRAMED}; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_LOGO_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}
_EMBED: Final = "embed.js"
_NOT_EMBEDDABLE: Final = "No origin may embed this server. To allow one: --embed-origins https://…"
_BASE: Final = re.compile(rb'<base href="[^"]*"')
_SMALL: Final = 1024
"""Bytes that fit into one packet anyway, and are not compressed."""

_NOT_BUILT: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Mobox</title>"
    "<h1>The page has not been built</h1>"
    "<p>Run <code>make web</code> in the repository (it needs Node), and load this again. "
    'The API works without it: see <a href="{base}openapi.json">its OpenAPI document</a>.</p>'
)


class _Served(NamedTuple):
    """A body and its ETag."""

    body: bytes
    etag: str


class _File(NamedTuple):
    media_type: str
    cache: str
    plain: _Served
    gzipped: _Served | None
    """None where compression saves nothing."""

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
    """The page and its files."""

    def __init__(
        self, folder: Path = FOLDER, brand: Brand | None = None, framed_by: Sequence[str] = ()
    ) -> None:
        self._folder = folder
        self._brand = brand or Brand()
        self._framed_by = framed_by
        self._reading: asyncio.Task[Files] | None = None

    def prepare(self) -> None:
        """Start to read the files; requests wait until it is done."""
        if self._reading is None:
            self._reading = asyncio.create_task(asyncio.to_thread(self._read))

    async def page(self, request: Request) -> Response:
        """The page; its script chooses the view by the URL."""
        base = "/" + quote(request.scope.get("root_path", "").strip("/") + "/").lstrip("/")
        page = (await self._files()).get(_PAGE)
        if page is None:
            body = _NOT_BUILT.format(base=html.escape(base))
            return Response(body, 503, {"cache-control": "no-store"}, media_type="text/html")
        response = _mounted(page.plain.body, base, self._brand).for_request(request)
        response.headers.update(_PAGE_HEADERS)
        return response

    async def embedded(self, request: Request) -> Response:
        """The page for a frame in a page of a listed origin."""
        if not self._framed_by:
            return error_response(403, "not_embeddable", _NOT_EMBEDDABLE)
        response = await self.page(request)
        policy = response.headers.get("content-security-policy", _FRAMED)
        framed = f"frame-ancestors 'self' {' '.join(self._framed_by)}"
        response.headers["content-security-policy"] = policy.replace(_FRAMED, framed)
        return response

    async def embed_script(self, request: Request) -> Response:
        """The script that pages of other origins load to embed the chat."""
        if not self._framed_by:
            return error_response(403, "not_embeddable", _NOT_EMBEDDABLE)
        response = await self.named(_EMBED, request)
        response.headers["cross-origin-resource-policy"] = "cross-origin"
        return response

    async def unlisted_page(self, request: Request) -> Response:
        """The page, for an address that search engines must not list."""
        response = await self.page(request)
        response.headers["x-robots-tag"] = "noindex, nofollow"
        return response

    async def file(self, request: Request) -> Response:
        """A file beside the page."""
        return await self.named(request.path_params["name"], request)

    async def asset(self, request: Request) -> Response:
        """A file that the build named after its content."""
        return await self.named(f"assets/{request.path_params['name']}", request)

    async def icon(self, request: Request) -> Response:
        """The icon, which browsers request by default."""
        return await self.named(self._brand.logo.name if self._brand.logo else "icon.svg", request)

    async def named(self, name: str, request: Request) -> Response:
        """The file of this name; the page itself is only served by `page`."""
        file = (await self._files()).get(name)
        if file is None or name == _PAGE:
            raise HTTPException(404, headers={"cache-control": "no-store"})
        response = file.for_request(request)
        if self._brand.logo and name == self._brand.logo.name:
            response.headers.update(_LOGO_HEADERS)
        return response

    def _read(self) -> Files:
        """The built files, with those of the brand; none if the page is not built."""
        files = _read(self._folder)
        if files:
            files |= {name: _file(name, body) for name, body in self._brand.files.items()}
        return files

    async def _files(self) -> Files:
        self.prepare()
        assert self._reading is not None
        files: Files = {}
        try:
            files = await asyncio.shield(self._reading)
        finally:
            if not files:  # they may be built later
                self._reading = None
        return files


def _read(folder: Path) -> dict[str, _File]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: _file(name, path.read_bytes()) for name, path in names.items()}


def _file(name: str, body: bytes) -> _File:
    etag = hashlib.sha256(body).hexdigest()[:20]
    # Without a timestamp, so that every process sends the same bytes.
    small = gzip.compress(body, mtime=0) if len(body) > _SMALL else body
    return _File(
        media_type=_TYPES.get(Path(name).suffix, "application/octet-stream"),
        cache=_FOR_EVER if name.startswith("assets/") else _REVALIDATE,
        plain=_Served(body, f'"{etag}"'),
        gzipped=_Served(small, f'"{etag}-gzip"') if len(small) < len(body) else None,
    )


def _accepts_gzip(header: str) -> bool:
    """Whether gzip is listed, by name or by `*`, with a weight above 0."""
    accepted: dict[str, bool] = {}
    for item in header.split(","):
        name, _, weight = item.replace(" ", "").lower().partition(";q=")
        accepted[name] = re.fullmatch(r"0(\.0*)?", weight) is None
    return accepted.get("gzip", accepted.get("*", False))


def _has(request: Request, etag: str) -> bool:
    etags = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    return "*" in etags or etag in (each.removeprefix("W/") for each in etags)


@lru_cache(maxsize=8)
def _mounted(page: bytes, base: str, brand: Brand) -> _File:
    """The page with its `<base>` and its brand, compressed once for each mount path."""
    tag = f'<base href="{html.escape(base)}"'.encode()
    branded = brand.in_page(page.decode()).encode()
    return _file(_PAGE, _BASE.sub(lambda _: tag, branded, count=1))
