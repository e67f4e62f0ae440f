"""The files that agents made in their state folder: listed and read, and nothing else is."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from mobox.sandbox.lending import STATE, give_back, lend, make_spare
from mobox.server.auth.principal import EVERY_SCOPE
from mobox.server.services import Services
from mobox.supervisor import made_files
from mobox.supervisor.agent_files import StateFolders
from server.live_server import live_server, message
from server.server_with_keys import bearer, code_of, give_key, keyed_app, say_something

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 10
CANARY = "what only the server knows"


class Chat:
    """A chat of Ann's, whose agent has a folder."""

    def __init__(self, services: Services, client: httpx.AsyncClient, key: str) -> None:
        self.services, self._client, self._key = services, client, key
        self.folder = StateFolders(services.settings.data / "state").of("ann", "chat")

    def write(self, path: str, data: bytes = b"text") -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    async def list(self, **query: Any) -> dict[str, Any]:
        response = await self.get("files", **query)
        assert response.status_code == 200, response.text
        listed: dict[str, Any] = response.json()
        return listed

    async def paths(self, **query: Any) -> set[str]:
        return {file["path"] for file in (await self.list(**query))["files"]}

    async def read(self, path: str, **headers: str) -> httpx.Response:
        return await self.get("file", headers, path=path)

    async def get(
        self, name: str, headers: dict[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        sent = {**bearer(self._key), **(headers or {})}
        return await self._client.get(f"/api/chats/chat/{name}", params=query, headers=sent)


@asynccontextmanager
async def open_chat(data: Path, **more: Any) -> AsyncIterator[Chat]:
    scopes = more.pop("scopes", EVERY_SCOPE)
    async with keyed_app(data, **more) as (services, client):
        await say_something(services.storage, "ann", "chat", "hello")
        _, key = await give_key(services.storage, "ann", scopes)
        yield Chat(services, client, key)


async def test_files_are_listed_newest_first(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        os.utime(chat.write("report.md", b"# Report"), (1000, 1000))
        os.utime(chat.write("data/table.csv"), (2000, 2000))
        listed = await chat.list()
    assert listed == {
        "files": [
            {
                "path": "data/table.csv",
                "size": 4,
                "modifiedAt": 2_000_000,
                "mediaType": "text/csv",
            },
            {
                "path": "report.md",
                "size": 8,
                "modifiedAt": 1_000_000,
                "mediaType": "text/markdown",
            },
        ],
        "complete": True,
        "available": True,
    }


async def test_a_chat_without_a_folder_has_no_files(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        assert await chat.list() == {"files": [], "complete": True, "available": True}
        assert code_of(await chat.read("report.md")) == (404, "not_found")


async def test_files_of_workers_are_elsewhere(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    async with open_chat(tmp_path, database_url=url, execute="workers") as chat:
        assert await chat.list() == {"files": [], "complete": True, "available": False}
        chat.write("shared.txt")  # a disk that all have
        assert await chat.paths() == {"shared.txt"}


INTERNAL = [
    ".cache/model.bin",
    "langgraph.sqlite",
    "langgraph.sqlite-wal",
    "claude/runs/a.json",
    "sub/__pycache__/a.pyc",
    "sub/.hidden",
    f"files/file_{'0a' * 20}.png",
]


async def test_what_is_internal_is_for_operators(tmp_path: Path) -> None:
    async with open_chat(tmp_path, scopes=("read",), error_details="brief") as chat:
        chat.write("files/made.txt")
        chat.write("data/langgraph.sqlite")  # not the framework's: that is at the top
        for path in INTERNAL:
            chat.write(path)
        assert await chat.paths() == {"files/made.txt", "data/langgraph.sqlite"}
        assert code_of(await chat.get("files", hidden="1")) == (403, "missing_scope")
        for path in INTERNAL:
            assert (await chat.read(path)).status_code == 403, path


async def test_hidden_files_are_listed_on_request(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        for path in INTERNAL:
            chat.write(path)
        assert await chat.paths(hidden="1") == {*INTERNAL}
        assert (await chat.read(INTERNAL[0])).content == b"text"
        assert code_of(await chat.get("files", hidden="maybe"))[0] == 400


SERVED = {
    "a.png": (PNG, "image/png", "inline"),
    "a.txt": (b"text", "text/plain; charset=utf-8", "inline"),
    "a.html": (b"<script>alert(1)</script>", "application/octet-stream", "attachment"),
    "a.svg": (b"<svg onload='alert(1)'/>", "application/octet-stream", "attachment"),
    "a.js": (b"alert(1)", "application/octet-stream", "attachment"),
    "a.pdf": (b"%PDF-1.7", "application/pdf", "attachment"),
    "fake.png": (b"<script>alert(1)</script>", "application/octet-stream", "attachment"),
    "nothing": (b"", "application/octet-stream", "attachment"),
}


@pytest.mark.parametrize("name", SERVED)
async def test_no_file_runs_in_the_origin_of_the_page(tmp_path: Path, name: str) -> None:
    data, content_type, shown = SERVED[name]
    async with open_chat(tmp_path) as chat:
        chat.write(name, data)
        response = await chat.read(name)
    assert response.content == data
    assert response.headers["content-type"] == content_type
    assert response.headers["content-disposition"] == f"{shown}; filename*=UTF-8''{name}"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_an_unchanged_file_is_not_sent_again(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        chat.write("a.txt")
        tag = (await chat.read("a.txt")).headers["etag"]
        assert (await chat.read("a.txt", **{"if-none-match": tag})).status_code == 304
        chat.write("a.txt", b"longer")
        assert (await chat.read("a.txt", **{"if-none-match": tag})).content == b"longer"


HOSTILE_PATHS = [
    "../secret",
    "a/../../secret",
    "/etc/passwd",
    "..",
    ".",
    "a/./b",
    "a//b",
    "a\0b",
    "link",
    "folder-link/secret",
    "linked-in/inner/secret",
    "folder",
    "pipe",
    "socket",
    "x" * 5000,
    "a/" * 3000 + "b",
    "%2e%2e/secret",
    "..\\secret",
    "\ud800",
]


@contextmanager
def traps(chat: Chat) -> Iterator[None]:
    """A folder full of ways out of it."""
    outside = chat.services.settings.data / "outside"
    outside.mkdir()
    (outside / "secret").write_text(CANARY)
    (chat.folder.parent / "secret").parent.mkdir(parents=True, exist_ok=True)
    (chat.folder.parent / "secret").write_text(CANARY)
    chat.write("folder/inside.txt")
    (chat.folder / "link").symlink_to(outside / "secret")
    (chat.folder / "folder-link").symlink_to(outside)
    (chat.folder / "linked-in").mkdir()
    (chat.folder / "linked-in/inner").symlink_to(outside)
    os.mkfifo(chat.folder / "pipe")
    place = Path.cwd()
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(chat.folder)  # the path of a socket is short
    try:
        listener.bind("socket")
    finally:
        os.chdir(place)
    try:
        yield
    finally:
        listener.close()


@pytest.mark.parametrize("path", HOSTILE_PATHS)
async def test_no_path_leads_outside(tmp_path: Path, path: str) -> None:
    async with open_chat(tmp_path) as chat:
        with traps(chat):
            response = await chat.get("file", path=path.encode("utf-8", "surrogatepass"))
    assert response.status_code == 404, response.text
    assert CANARY not in response.text


async def test_links_pipes_and_sockets_are_not_listed(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        with traps(chat):
            assert await chat.paths() == {"folder/inside.txt"}


async def test_a_folder_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret").write_text(CANARY)
        chat.folder.parent.mkdir(parents=True, exist_ok=True)
        chat.folder.symlink_to(outside)
        assert await chat.paths() == set()
        assert (await chat.read("secret")).status_code == 404


async def test_any_name_is_listed_and_read(tmp_path: Path) -> None:
    names = [
        "a b.txt",
        "ü€😀.md",
        'quo"te.txt',
        "new\nline.txt",
        "per%20cent",
        "a;b=c",
        "\u202egnp.exe",
    ]
    async with open_chat(tmp_path) as chat:
        for name in names:
            chat.write(name, name.encode())
        os.mknod(os.fsencode(chat.folder) + b"/\xff\xfe.txt")  # not a text of UTF-8
        assert await chat.paths() == {*names}
        for name in names:
            response = await chat.read(name)
            assert response.content == name.encode(), name
            assert "\n" not in response.headers["content-disposition"]


async def test_a_huge_folder_has_a_bounded_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_files, "SCANNED", 700)
    async with open_chat(tmp_path) as chat:
        for number in range(made_files.MOST + 1):
            os.utime(chat.write(f"{number}.txt"), (number, number))
        listed = await chat.list()
        assert (len(listed["files"]), listed["complete"]) == (made_files.MOST, False)
        assert listed["files"][0]["path"] == f"{made_files.MOST}.txt"
        for number in range(1000):
            chat.write(f"more/{number}.txt")
        assert not (await chat.list())["complete"]


async def test_a_deep_folder_is_listed_to_a_depth(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        chat.write("a/b/c/deep.txt")
        chat.write("a/" * 40 + "deepest.txt")
        assert await chat.paths() == {"a/b/c/deep.txt"}
        assert not (await chat.list())["complete"]


@pytest.mark.parametrize("seconds", [2**62, -(2**62)])
def test_a_file_may_have_any_time(seconds: int) -> None:
    about = os.stat_result((stat.S_IFREG, 1, 1, 1, 0, 0, 4, seconds, seconds, seconds))
    made = made_files.made_file("a.txt", about)
    assert msgspec.json.decode(msgspec.json.encode(made)) == list(made)
    assert 0 <= made.modified_at <= 8_640_000_000_000_000  # a time that a page can show


async def test_a_lent_folder_is_read_where_it_is(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        chat.write("before.txt")
        spare, lock = make_spare(str(chat.folder.parent))
        chat_lock = lend(str(chat.folder), spare)
        (Path(spare) / STATE / "during.txt").write_text("at work")
        assert await chat.paths() == {"before.txt", "during.txt"}
        assert (await chat.read("during.txt")).text == "at work"
        give_back(spare)
        os.close(lock)
        os.close(chat_lock)
        assert await chat.paths() == {"before.txt", "during.txt"}


async def test_an_agent_cannot_say_that_its_folder_is_elsewhere(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as chat:
        chat.write("mine.txt")
        other = chat.folder.parent / ".spares" / "other"
        (other / "box/state").mkdir(parents=True)
        (other / "box/state/secret").write_text(CANARY)
        (chat.folder / ".mobox-lent").symlink_to("other")
        assert await chat.paths() == {"mine.txt"}


AGENT = """
import os
from pathlib import Path
from shared.emitter import emit_text

Path(os.environ["MOBOX_STATE"], "report.md").write_text("# Report")
emit_text("It is in report.md.")
"""


@pytest.mark.parametrize("sandbox", ["process", "auto"])
def test_what_a_real_agent_made_is_there_and_is_deleted_with_its_chat(
    tmp_path: Path, sandbox: str
) -> None:
    folder = tmp_path / "agents" / "writer"
    folder.mkdir(parents=True)
    (folder / "run_agent.py").write_text(AGENT)
    (folder / "agent.yaml").write_text("name: Writer")
    agents = ("--agents", tmp_path / "agents")
    with (
        live_server(tmp_path / "data", *agents, SANDBOX_BACKEND=sandbox) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        client.post("/api/chat", json={**message("c1", "Go"), "agent": "writer"}).raise_for_status()
        listed = client.get("/api/chats/c1/files").json()
        assert [file["path"] for file in listed["files"]] == ["report.md"]
        read = client.get("/api/chats/c1/file", params={"path": "report.md"})
        assert read.text == "# Report"
        client.delete("/api/chats/c1").raise_for_status()
        assert client.get("/api/chats/c1/files").status_code == 404
