"""Photos in chats of the real AI SDK clients, whose default transport posts the whole history."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.chat_clients import ChatClients, Frontend, Json
from server.live_server import LiveServer, live_server
from server.scripted_agent import prompt

PHOTOS = 10
SIZE = 5_000_000
WITHIN = 64 << 20
"""Bytes that a server may need in addition: less than the last request has."""


def photo(n: int) -> bytes:
    return b"\xff\xd8\xff\xe0" + random.Random(n).randbytes(SIZE)


def part_of(data: bytes) -> Json:
    url = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
    return {"type": "file", "mediaType": "image/jpeg", "filename": "photo.jpg", "url": url}


def files_of(messages: list[Json]) -> list[Json]:
    return [part for message in messages for part in message["parts"] if part["type"] == "file"]


def peak_of(server: LiveServer) -> int:
    """The most memory that the server's process ever had, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


@pytest.fixture(params=["ai-v6 v6", "ai v7"])
def own(
    request: pytest.FixtureRequest,
    clients: ChatClients,
    http: httpx.Client,
    agents: Path,
    tmp_path: Path,
) -> Iterator[tuple[LiveServer, Frontend]]:
    with live_server(tmp_path / "data", "--agents", agents) as server:
        client, profile = request.param.split()
        yield server, Frontend(clients, http, server, client, profile)


def test_ten_photos_in_one_chat(own: tuple[LiveServer, Frontend]) -> None:
    server, frontend = own
    chat = frontend.open("photos")
    hashes = [hashlib.sha256(photo(n)).hexdigest() for n in range(PHOTOS)]
    report = chat.send(prompt(["files"]))
    before = peak_of(server)
    for n in range(PHOTOS):
        script = prompt(["files"]) if n == PHOTOS - 1 else prompt()
        chat.begin("sendMessage", {"text": script, "files": [part_of(photo(n))]})
        report = chat.settle()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    answer = "".join(part.get("text", "") for part in report.messages[-1]["parts"])
    assert answer.split() == [hashes[-1], *hashes[:-1]]
    stored = files_of(frontend.stored("photos")["messages"])
    assert len({file["url"] for file in stored}) == PHOTOS
    for file, digest in zip(stored, hashes, strict=True):
        assert hashlib.sha256(frontend.get(file["url"]).content).hexdigest() == digest
    assert peak_of(server) - before < WITHIN
    again = frontend.reload("photos").send(prompt(["files"]))
    assert (again.status, again.error, again.invalid) == ("ready", None, None)
    assert files_of(again.messages) == stored
