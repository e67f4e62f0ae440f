"""Pages of other origins: refused, unless they are listed; then they may also read the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.app_client import app_client
from server.live_server import message

THEIRS = "http://localhost:3000"
ASKS = {
    "origin": THEIRS,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
}


async def test_a_listed_page_may_ask_and_read(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:", origins=(THEIRS,)) as (_, client):
        asked = await client.options("/api/chat", headers=ASKS)
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == THEIRS
        assert "content-type" in asked.headers["access-control-allow-headers"]
        refused = await client.post(
            "/api/chat", json={**message("c1", "hi"), "agent": "nobody"}, headers={"origin": THEIRS}
        )
        assert refused.json()["error"]["code"] == "unknown_agent"
        assert refused.headers["access-control-allow-origin"] == THEIRS


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (f"{THEIRS}/", THEIRS),
        (THEIRS.upper(), THEIRS),
        ("https://chat.example:443", "https://chat.example"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
async def test_it_does_not_matter_how_a_page_is_listed(
    tmp_path: Path, listed: str, said: str
) -> None:
    async with app_client(tmp_path, "memory:", origins=(listed,)) as (_, client):
        asked = await client.get("/api/chats", headers={"origin": said})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == said


async def test_no_other_page_may(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:", origins=("http://other.example",)) as (_, client):
        assert "access-control-allow-origin" not in (await client.get("/healthz")).headers
        asked = await client.options("/api/chat", headers=ASKS)
        assert asked.status_code == 400
        assert "access-control-allow-origin" not in asked.headers
        sent = await client.post("/api/chat", json=message("c1", "hi"), headers={"origin": THEIRS})
        assert sent.status_code == 403


async def test_without_a_list_there_is_no_such_thing(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (_, client):
        assert (await client.options("/api/chat", headers=ASKS)).status_code == 405
