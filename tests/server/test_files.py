"""Files over HTTP: upload, download, delete, and who may read them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

import mobox
from mobox.server.files.links import SIGNATURE
from mobox.storage.files import address_of
from server.app_client import app_client
from server.live_server import live_server
from server.server_with_keys import bearer, give_key, keyed_app
from support.postgres_server import Databases

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 10
ORIGIN = "https://front.example"


async def upload(client: httpx.AsyncClient, data: bytes = PNG, **more: Any) -> dict[str, Any]:
    files = {"file": ("photo.png", data, "image/png")}
    response = await client.post("/api/files", files=files, **more)
    assert response.status_code == 201, response.text
    uploaded: dict[str, Any] = response.json()
    return uploaded


async def test_a_form_is_uploaded_and_read(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        file = await upload(client)
        read = await client.get(file["url"])
    assert file == {
        "type": "file",
        "id": file["id"],
        "url": address_of(file["id"]),
        "mediaType": "image/png",
        "filename": "photo.png",
        "size": len(PNG),
    }
    assert read.content == PNG
    assert {name: read.headers[name] for name in HEADERS} == HEADERS


HEADERS = {
    "content-type": "image/png",
    "content-length": str(len(PNG)),
    "content-disposition": "inline; filename*=UTF-8''photo.png",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=86400, immutable",
    "cross-origin-resource-policy": "same-origin",
    "accept-ranges": "bytes",
}


async def test_a_body_is_uploaded_as_it_is(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        response = await client.post(
            "/api/files",
            params={"name": '../Zürich "1".png'},
            content=PNG,
            headers={"content-type": "image/png"},
        )
        file = response.json()
        read = await client.get(file["url"])
    assert (response.status_code, file["filename"]) == (201, 'Zürich "1".png')
    disposition = read.headers["content-disposition"]
    assert disposition == "inline; filename*=UTF-8''Z%C3%BCrich%20%221%22.png"


async def test_the_same_bytes_keep_the_name_of_their_upload(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        first = await upload(client)
        again = await client.post("/api/files", params={"name": "copy.png"}, content=PNG)
        unnamed = await client.post("/api/files", content=PNG)
    assert again.json() == {**first, "filename": "copy.png"}
    assert unnamed.json() == first


@pytest.mark.parametrize(
    ("declared", "data", "stored", "sent"),
    [
        ("image/jpeg", PNG, "image/png", "image/png"),
        ("image/png", b"<script>alert(1)</script>", "application/octet-stream", None),
        ("image/svg+xml", b"<svg/>", "image/svg+xml", None),
        ("text/html", b"<p>", "text/html", None),
        ("text/plain", b"<p>", "text/plain", "text/plain; charset=utf-8"),
        ("application/json", b"{}", "application/json", None),
        ("application/pdf", b"%PDF-1.7", "application/pdf", "application/pdf"),
    ],
)
async def test_types_are_checked_and_sent_safely(
    tmp_path: Path, declared: str, data: bytes, stored: str, sent: str | None
) -> None:
    async with app_client(tmp_path) as (_, client):
        response = await client.post("/api/files", content=data, headers={"content-type": declared})
        assert response.json()["mediaType"] == stored
        read = await client.get(response.json()["url"])
    assert read.headers["content-type"] == (sent or "application/octet-stream")
    is_inline = sent is not None and stored != "application/pdf"
    assert read.headers["content-disposition"].startswith("inline" if is_inline else "attachment")


@pytest.mark.parametrize(
    ("asked", "status", "found"),
    [
        ("bytes=0-3", 206, PNG[:4]),
        ("bytes=4-", 206, PNG[4:]),
        ("bytes=-5", 206, PNG[-5:]),
        ("bytes=70-999", 206, PNG[70:]),
        ("bytes=0-", 206, PNG),
        ("bytes=0-77", 206, PNG),
        ("bytes=-999", 206, PNG),
        ("bytes=0-3,5-6", 200, PNG),
        ("lines=0-3", 200, PNG),
        ("bytes=78-", 416, b""),
        ("bytes=5-4", 200, PNG),
        ("bytes=-0", 416, b""),
    ],
)
async def test_a_range_is_read(tmp_path: Path, asked: str, status: int, found: bytes) -> None:
    async with app_client(tmp_path) as (_, client):
        file = await upload(client)
        read = await client.get(file["url"], headers={"range": asked})
        assert (read.status_code, read.content) == (status, found)
        if status == 206:
            start = PNG.rindex(found)
            end = start + len(found) - 1
            assert read.headers["content-range"] == f"bytes {start}-{end}/{len(PNG)}"
        elif status == 416:
            assert read.headers["content-range"] == f"bytes */{len(PNG)}"
        changed = {"range": asked, "if-range": '"another"'}
        assert (await client.get(file["url"], headers=changed)).content == PNG


async def test_a_cached_file_is_not_sent_again(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        file = await upload(client)
        tag = (await client.get(file["url"])).headers["etag"]
        again = await client.get(file["url"], headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")
        head = await client.head(file["url"])
        assert (head.status_code, head.headers["content-length"]) == (200, str(len(PNG)))


async def test_an_uploaded_file_is_deleted(tmp_path: Path) -> None:
    async with app_client(tmp_path) as (_, client):
        file = await upload(client)
        assert (await client.delete(file["url"])).status_code == 204
        assert (await client.get(file["url"])).status_code == 404
        gone = await client.delete(file["url"])
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("content_type", "body", "field"),
    [
        ("multipart/form-data", b"x", "content-type"),
        ("multipart/form-data; boundary=b", b"--b\r\n", ""),
        ("multipart/form-data; boundary=b", b"--b--", "file"),
    ],
)
async def test_a_wrong_form_gets_a_sentence(
    tmp_path: Path, content_type: str, body: bytes, field: str
) -> None:
    async with app_client(tmp_path) as (_, client):
        headers = {"content-type": content_type}
        refused = await client.post("/api/files", content=body, headers=headers)
    assert refused.status_code == 400
    assert refused.json()["error"].get("field", "") == field


async def test_limits_name_their_settings(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"max_file": 100_000, "max_files_per_owner": 150_000}
    async with keyed_app(tmp_path, **limits) as (services, client):
        key = bearer((await give_key(services.storage, "ann"))[1])
        large = await client.post("/api/files", content=b"x" * 100_001, headers=key)
        assert large.json()["error"]["code"] == "file_too_large"
        larger = await client.post("/api/files", content=b"x" * 200_000, headers=key)
        assert larger.json()["error"]["code"] == "body_too_large"
        for refused in (large, larger):
            assert refused.status_code == 413
            assert "100000 bytes" in refused.json()["error"]["message"]
            assert "--max-file)" in refused.json()["error"]["message"]
        await client.post("/api/files", content=b"x" * 100_000, headers=key)
        full = await client.post("/api/files", content=b"y" * 60_000, headers=key)
        assert (full.status_code, full.json()["error"]["code"]) == (413, "file_quota_exceeded")
        assert "--max-files-per-owner" in full.json()["error"]["message"]


async def test_an_upload_that_breaks_off_stores_nothing(tmp_path: Path) -> None:
    with live_server(tmp_path / "data") as server:
        port = int(server.url.rsplit(":", 1)[1].strip("/"))
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        start = b"POST /api/files HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n"
        writer.write(start + b"x" * 900_000)
        await writer.drain()
        writer.close()
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            whole = await upload(client, b"x" * 900_000)
            assert (await client.get(whole["url"])).content == b"x" * 900_000


# Who may read


async def test_an_address_in_messages_needs_no_key_for_a_day_or_two(tmp_path: Path) -> None:
    async with keyed_app(tmp_path) as (services, client):
        key = bearer((await give_key(services.storage, "ann"))[1])
        file = await upload(client, headers=key)
        plain = address_of(file["id"])
        assert re.fullmatch(
            re.escape(plain) + rf"\?{SIGNATURE}=[0-9]{{13}}\.[0-9a-f]{{64}}", file["url"]
        )
        assert (await client.get(file["url"])).content == PNG
        assert (await client.get(plain)).status_code == 401
        assert (await client.get(plain, headers=key)).content == PNG
        signature = file["url"].partition("=")[2]
        until, _, code = signature.partition(".")
        other = await upload(client, PNG + b"2", headers=key)
        for url in [
            file["url"][:-1] + ("0" if file["url"][-1] != "0" else "1"),
            f"{plain}?{SIGNATURE}={int(until) + 1}.{code}",
            f"{plain}?{SIGNATURE}=1.{code}",
            f"{plain}?{SIGNATURE}=",
            f"{address_of(other['id'])}?{SIGNATURE}={signature}",
            f"{address_of('file_' + '0' * 40)}?{SIGNATURE}={signature}",
        ]:
            refused = await client.get(url, headers=key)
            assert (refused.status_code, refused.json()["error"]["code"]) == (
                401,
                "unauthenticated",
            )
        assert (await client.delete(file["url"])).status_code == 401


async def test_a_page_of_another_origin_gets_an_address_that_it_can_show(tmp_path: Path) -> None:
    async with app_client(tmp_path, allowed_origins=(ORIGIN,)) as (_, client):
        file = await upload(client, headers={"origin": ORIGIN})
        assert file["url"].startswith("http://localhost/api/files/")
        picture = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
        shown = await client.get(file["url"], headers=picture)
        assert shown.content == PNG
        assert shown.headers["cross-origin-resource-policy"] == "cross-origin"
        plain, _, _ = file["url"].partition("?")
        listed = await client.get(plain, headers={**picture, "referer": f"{ORIGIN}/chat"})
        assert listed.content == PNG
        assert listed.headers["cross-origin-resource-policy"] == "cross-origin"
        for url in (plain, f"{plain}?x{SIGNATURE}=1", f"{plain}?a={SIGNATURE}=1"):
            assert (await client.get(url, headers=picture)).status_code == 403
        assert (await client.get(f"{plain}?{SIGNATURE}=1", headers=picture)).status_code == 401


async def test_a_mounted_server_says_where_it_is(tmp_path: Path) -> None:
    async with app_client(tmp_path, root="/be low") as (_, client):
        response = await client.post("/be low/api/files", content=PNG)
        assert response.json()["url"] == f"/be%20low{address_of(response.json()['id'])}"
        assert (await client.get(response.json()["url"])).content == PNG


async def test_a_fastapi_app_serves_files_below_its_mount(tmp_path: Path) -> None:
    app = FastAPI()
    box = mobox.mount(app, principal=lambda request: request.headers.get("x-user"), data=tmp_path)
    async with box:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            ann, bob = {"x-user": "ann"}, {"x-user": "bob"}
            response = await client.post("/mobox/api/files", content=PNG, headers=ann)
            url = response.json()["url"]
            assert url.startswith("/mobox/api/files/file_")
            assert (await client.get(url)).content == PNG
            plain = url.partition("?")[0]
            assert (await client.get(plain, headers=bob)).status_code == 404
            assert (await client.get(plain)).status_code == 401


async def test_one_server_reads_what_another_got(tmp_path: Path, postgres: Databases) -> None:
    url = await postgres.database(str(tmp_path))
    async with (
        app_client(tmp_path / "a", url) as (_, one),
        app_client(tmp_path / "b", url) as (_, two),
    ):
        file = await upload(one)
        assert (await two.get(file["url"])).content == PNG
