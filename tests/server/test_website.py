"""The built page as browsers get it: its cache, its compressed copies, where it is mounted."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from mobox.server.app import create_app, open_services
from mobox.server.website import FOLDER, Website
from mobox.settings import Settings
from server.live_server import AGENTS

PAGE = '<!doctype html><head><base href="/" /><link href="./icon.svg"></head>'
SCRIPT = "export const words = ['the same again'];\n" * 100
FILES = {
    "index.html": PAGE,
    "icon.svg": "<svg/>",
    "assets/index-Ab1_.js": SCRIPT,
    "assets/index-Cd2.css": "body{}",
}
PLAIN = {"accept-encoding": "identity"}


@asynccontextmanager
async def site(data: Path, folder: Path, root: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server whose page is in this folder."""
    async with open_services(Settings(data=data, agents=AGENTS)) as services:
        app = create_app(msgspec.structs.replace(services, website=Website(folder)))
        below = Starlette(routes=[Mount(root, app)])
        transport = httpx.ASGITransport(below, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page that was built."""
    for name, text in FILES.items():
        path = tmp_path / "web" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "secret.txt").write_text("nobody may read this")
    return tmp_path / "web"


def links(page: httpx.Response) -> list[str]:
    """What the page is made of, as a browser finds it."""
    base, *_ = re.findall('<base href="([^"]*)"', page.text)
    found = re.findall('<(?:link|script)[^>]* (?:href|src)="([^"]+)"', page.text)
    return [urljoin(urljoin(str(page.url), base), link) for link in found]


@pytest.mark.parametrize("root", ["", "/below", "/a/b"])
@pytest.mark.parametrize("path", ["/", "/chat/c1", "/chat/a/b%20c"])
async def test_the_page_finds_what_it_is_made_of_wherever_it_is(
    tmp_path: Path, root: str, path: str
) -> None:
    async with site(tmp_path, FOLDER, root) as client:
        page = (await client.get(root + path)).raise_for_status()
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        made_of = links(page)
        assert len(made_of) >= 4
        for link in made_of:
            assert link.startswith(f"http://localhost{root}/")
            (await client.get(link)).raise_for_status()
        assert (await client.get(f"{root}/favicon.ico")).headers["content-type"] == "image/svg+xml"


async def test_every_file_of_the_build_is_served_as_what_it_is(tmp_path: Path) -> None:
    names = [path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()]
    types = {
        "css": "text/css",
        "js": "text/javascript",
        "svg": "image/svg+xml",
        "txt": "text/plain",
        "woff2": "font/woff2",
    }
    async with site(tmp_path, FOLDER) as client:
        for name in set(names) - {"index.html", "embed.js"}:  # those have their own routes
            file = (await client.get(f"/{name}")).raise_for_status()
            assert file.headers["content-type"].partition(";")[0] == types[name.split(".")[-1]]
            assert file.content == (FOLDER / name).read_bytes()


@pytest.mark.parametrize(
    ("root", "told"),
    [("", "/"), ("/below", "/below/"), ("/ä b", "/%C3%A4%20b/"), ('/"><x', "/%22%3E%3Cx/"),
     ("/a'&b", "/a%27%26b/"), ("//example.org", "/example.org/")],
)  # fmt: skip
async def test_page_knows_its_mount_path(
    tmp_path: Path, folder: Path, root: str, told: str
) -> None:
    async with open_services(Settings(data=tmp_path, agents=AGENTS)) as services:
        app = create_app(msgspec.structs.replace(services, website=Website(folder)))
        transport = httpx.ASGITransport(app, root_path=root)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            page = await client.get("/")
    assert page.text == PAGE.replace('href="/"', f'href="{told}"')


async def test_hashed_files_are_cached_forever_and_others_revalidated(
    tmp_path: Path, folder: Path
) -> None:
    async with site(tmp_path, folder) as client:
        for name in FILES:
            path = "/" if name == "index.html" else f"/{name}"
            first = (await client.get(path)).raise_for_status()
            kept = "public, max-age=31536000, immutable"
            assert first.headers["cache-control"] == (kept if "assets" in name else "no-cache")
            for known in (first.headers["etag"], f'"x", W/{first.headers["etag"]}', "*"):
                again = await client.get(path, headers={"if-none-match": known})
                assert (again.status_code, again.content) == (304, b"")
                for header in ("cache-control", "etag", "vary"):
                    assert again.headers.get(header) == first.headers.get(header)
            assert (await client.get(path, headers={"if-none-match": '"x"'})).content


async def test_a_page_that_was_built_again_has_another_name(tmp_path: Path, folder: Path) -> None:
    async with site(tmp_path, folder) as client:
        old = (await client.get("/")).headers["etag"]
    (folder / "index.html").write_text(PAGE + "<p>new")
    async with site(tmp_path, folder) as client:
        new = await client.get("/", headers={"if-none-match": old})
        assert (new.status_code, new.text) == (200, PAGE + "<p>new")


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("GZIP ; q=1", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("br", False),
        ("", False),
    ],
)
async def test_a_file_is_compressed_for_who_accepts_it(
    tmp_path: Path, folder: Path, accepted: str, is_compressed: bool
) -> None:
    async with site(tmp_path, folder) as client:
        path, headers = "/assets/index-Ab1_.js", {"accept-encoding": accepted}
        async with client.stream("GET", path, headers=headers) as response:
            body = b"".join([part async for part in response.aiter_raw()])
        assert (response.headers.get("content-encoding") == "gzip") is is_compressed
        assert (gzip.decompress(body) if is_compressed else body) == SCRIPT.encode()
        assert int(response.headers["content-length"]) == len(body)
        assert response.headers["vary"] == "accept-encoding"
        other = await client.get(path, headers=PLAIN if is_compressed else {})
        assert other.headers["etag"] != response.headers["etag"]


async def test_incompressible_files_are_not_compressed(tmp_path: Path, folder: Path) -> None:
    async with site(tmp_path, folder) as client:
        small = await client.get("/assets/index-Cd2.css")
    assert small.headers.keys().isdisjoint({"content-encoding", "vary"})


async def test_head_returns_the_headers_of_get(tmp_path: Path, folder: Path) -> None:
    async with site(tmp_path, folder) as client:
        for path in ("/", "/chat/c1", "/icon.svg", "/assets/index-Ab1_.js"):
            head, get = await client.head(path), await client.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers == get.headers


@pytest.mark.parametrize(
    "path",
    [
        "/assets/index-none.js",
        "/assets/",
        "/assets/../index.html",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%5csecret.txt",
        "/index.html",
        "/nothing",
        "/chats",
        "/api/nothing",
    ],
)
async def test_missing_resource_is_not_found(tmp_path: Path, folder: Path, path: str) -> None:
    async with site(tmp_path, folder) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    if path.startswith("/assets/index"):
        assert answer.headers["cache-control"] == "no-store"


async def test_the_page_may_load_only_from_its_server_and_stands_in_no_frame(
    tmp_path: Path, folder: Path
) -> None:
    async with site(tmp_path, folder) as client:
        headers = (await client.get("/")).headers
        policy = dict(
            rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == policy["script-src"] == policy["connect-src"] == "'self'"
        assert policy["object-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["base-uri"] == policy["form-action"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert (await client.get("/assets/index-Ab1_.js")).headers[
            "x-content-type-options"
        ] == "nosniff"


async def test_missing_page_build_is_reported_until_it_exists(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "web"
    async with site(tmp_path, folder, "/below") as client:
        missing = await client.get("/below/")
        assert (missing.status_code, missing.headers["cache-control"]) == (503, "no-store")
        assert "make web" in missing.text
        assert 'href="/below/openapi.json"' in missing.text
        assert (await client.get("/below/icon.svg")).status_code == 404
        assert (await client.get("/below/api/chats")).status_code == 200
        folder.mkdir()
        (folder / "index.html").write_text(PAGE)
        assert (await client.get("/below/")).status_code == 200


async def test_a_page_that_cannot_be_read_is_an_error_until_it_can(
    tmp_path: Path, folder: Path
) -> None:
    page = folder / "index.html"
    page.unlink()
    page.symlink_to("/proc/self/mem")  # a file whose first byte nobody can read
    async with site(tmp_path, folder) as client:
        assert (await client.get("/")).json()["error"]["code"] == "internal_error"
        page.unlink()
        page.write_text(PAGE)
        assert (await client.get("/")).text == PAGE
