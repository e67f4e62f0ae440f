"""Files in messages of every protocol: moved to the store, compared, served and given to agents."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from fastapi import FastAPI, Request, Response

import mobox
from library.apps import running, text_of
from mobox.agent_path.shared.control import Turn
from mobox.events.turn import PromptFile, UserMessage
from mobox.server.app import create_app, open_services
from mobox.server.files.scanner import LONG, SHORT
from mobox.settings import OWNER, Settings
from mobox.storage import Storage
from mobox.storage.files import IN_FLIGHT, UNNAMED, address_of
from mobox.supervisor.pruning import sweep_files
from mobox.supervisor.turn_files import INLINE
from server.live_server import WANTS_JSON
from server.scripted_agent import prompt, text, write_agent
from support.clocks import Clock

JSON = {"content-type": "application/json"}
PNG = b"\x89PNG\r\n\x1a\n"


def photo(size: int = 200_000, seed: int = 1) -> bytes:
    return PNG + random.Random(seed).randbytes(size)


def data_url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_part(url: str, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "file", "mediaType": media_type, "url": url, "filename": "photo.png"}


def said(message_id: str, *parts: dict[str, Any], words: str = "") -> dict[str, Any]:
    script = words or prompt(["files"])
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": script}, *parts]}


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class Host(NamedTuple):
    """A server in this process, with an agent that tells the hashes of its files."""

    storage: Storage
    client: httpx.AsyncClient
    data: Path

    async def send(self, *messages: dict[str, Any], chat_id: str = "c", **more: Any) -> str:
        body = {"id": chat_id, "messages": messages, **more}
        return await self.post("/api/chat", json.dumps(body).encode())

    async def post(self, path: str, body: bytes, status: int = 200) -> str:
        response = await self.client.post(path, content=body, headers=JSON)
        assert response.status_code == status, response.text
        return response.text

    async def prompts(self, chat_id: str = "c") -> list[UserMessage]:
        history = await self.storage.history(OWNER, chat_id)
        return [each.body for each in history.messages if isinstance(each.body, UserMessage)]

    async def files(self, chat_id: str = "c") -> list[PromptFile]:
        parts = [part for message in await self.prompts(chat_id) for part in message.parts]
        return [part for part in parts if isinstance(part, PromptFile)]

    async def content(self, file: PromptFile) -> bytes:
        return (await self.client.get(file.url)).content


@asynccontextmanager
async def hosted(folder: Path, **more: Any) -> AsyncIterator[Host]:
    settings = Settings(data=folder / "data", agents=write_agent(folder / "agents"), **more)
    async with open_services(settings) as services:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=WANTS_JSON
        ) as client:
            yield Host(services.storage, client, settings.data)


# Moving


async def test_a_photo_in_a_message_is_moved_to_the_store(tmp_path: Path) -> None:
    data = photo()
    async with hosted(tmp_path) as host:
        answer = await host.send(said("m1", file_part(data_url(data))))
        assert text_of(answer).split() == [sha(data)]
        (file,) = await host.files()
        assert file == PromptFile(
            media_type="image/png",
            url=address_of(file.file_id or ""),
            name="photo.png",
            file_id=file.file_id,
        )
        assert await host.content(file) == data
        (message, _) = (await host.client.get("/api/chats/c")).json()["messages"]
        shown = {"type": "file", "mediaType": "image/png", "filename": "photo.png"}
        assert message["parts"][1] == {**shown, "url": file.url}


async def test_a_small_picture_stays_in_the_message(tmp_path: Path) -> None:
    url = data_url(PNG)
    async with hosted(tmp_path) as host:
        answer = await host.send(said("m1", file_part(url)))
        assert text_of(answer).split() == [sha(PNG)]
        assert [(file.url, file.file_id) for file in await host.files()] == [(url, None)]


async def test_a_posted_history_is_not_stored_again(tmp_path: Path) -> None:
    data, other = photo(), photo(seed=2)
    async with hosted(tmp_path, max_files_per_owner=500_000) as host:
        first = said("m1", file_part(data_url(data)))
        await host.send(first)
        changed = said("m1", file_part(data_url(photo(seed=3))))
        answer = await host.send(changed, said("m2", file_part(data_url(other))))
        assert text_of(answer).split() == [sha(other), sha(data)]
        assert [sha(await host.content(file)) for file in await host.files()] == [
            sha(data),
            sha(other),
        ]


async def test_a_message_sent_twice_is_one_turn(tmp_path: Path) -> None:
    message = said("m1", file_part(data_url(photo())))
    async with hosted(tmp_path) as host:
        answers = [await host.send(message) for _ in range(2)]
        assert answers[0] == answers[1]
        assert len(await host.storage.runs(OWNER, "c")) == 1


async def test_the_same_photo_in_two_chats_is_one_file(tmp_path: Path) -> None:
    message = said("m1", file_part(data_url(photo())))
    async with hosted(tmp_path) as host:
        await host.send(message, chat_id="one")
        await host.send(message, chat_id="two")
        assert await host.files("one") == await host.files("two")


async def test_an_uploaded_file_is_named_by_its_address_or_id(tmp_path: Path) -> None:
    data = photo()
    async with hosted(tmp_path) as host:
        uploaded = (await host.client.post("/api/files", content=data)).json()
        for n, url in enumerate([uploaded["url"], uploaded["id"], f"http://x{uploaded['url']}"]):
            answer = await host.send(said("m1", file_part(url)), chat_id=f"c{n}")
            assert text_of(answer).split() == [sha(data)]
            assert [file.url for file in await host.files(f"c{n}")] == [uploaded["url"]]


async def test_a_missing_file_is_an_error_and_an_address_elsewhere_is_not(tmp_path: Path) -> None:
    missing = address_of("file_" + "0" * 40)
    async with hosted(tmp_path) as host:
        body = {"id": "c", "messages": [said("m1", file_part(missing))]}
        refused = await host.client.post("/api/chat", json=body)
        assert (refused.status_code, "no file 'file_0" in refused.text) == (400, True)
        elsewhere = f"https://other.example{missing}"
        await host.send(said("m1", file_part(elsewhere), words=prompt(text("Hi"))))
        assert [(file.url, file.file_id) for file in await host.files()] == [(elsewhere, None)]


async def test_regenerating_keeps_the_file(tmp_path: Path) -> None:
    data = photo()
    message = said("m1", file_part(data_url(data)))
    async with hosted(tmp_path) as host:
        await host.send(message)
        before = await host.files()
        answer = await host.send(message, trigger="regenerate-message")
        assert text_of(answer).split() == [sha(data)]
        assert await host.files() == before


async def test_the_last_message_alone_works_as_documented(tmp_path: Path) -> None:
    """What `prepareSendMessagesRequest` sends, with `trigger` and `messageId`, or without."""
    data = photo()
    message = said("m1", file_part(data_url(data)))
    async with hosted(tmp_path) as host:
        for more in ({}, {"trigger": "regenerate-message", "messageId": "m1"}):
            body = {"id": "c", "message": message, **more}
            answer = await host.post("/api/chat", json.dumps(body).encode())
            assert text_of(answer).split() == [sha(data)]
        edited = said("m9", file_part(data_url(photo(seed=2))))
        body = {"id": "c", "message": edited, "trigger": "submit-message", "messageId": "m1"}
        await host.post("/api/chat", json.dumps(body).encode())
        assert [message.id for message in await host.prompts()] == ["m9"]


# Texts stay texts


async def test_a_long_text_is_kept_whatever_it_looks_like(tmp_path: Path) -> None:
    long = 'é"\\\n\U0001f600' * LONG
    fake = data_url(photo())
    parts = [
        {"type": "text", "text": long},
        {"type": "text", "text": fake},
        {"type": "data-note", "data": {"type": "file", "url": fake, long: [long, fake]}},
        file_part("https://other.example/" + "x" * LONG),
        file_part("blob:" + long),
    ]
    message = {
        "id": "m1",
        "role": "user",
        "parts": parts,
        "metadata": {"type": "file", "url": fake},
    }
    async with hosted(tmp_path) as host:
        await host.send(message)
        chat = (await host.client.get("/api/chats/c")).json()
        (stored, *_) = chat["messages"]
        assert stored["parts"] == parts
        assert stored["metadata"] == message["metadata"]


async def test_a_placeholder_cannot_be_written_by_a_client(tmp_path: Path) -> None:
    words = [f"{'0' * 32}:0", "0:0"]
    async with hosted(tmp_path) as host:
        parts = [{"type": "text", "text": each} for each in words]
        files = [file_part(each) for each in words]
        await host.send(
            {"id": "m1", "role": "user", "parts": [*parts, *files, file_part(data_url(photo()))]}
        )
        (message,) = await host.prompts()
        assert message.text.split() == words
        assert [file.url for file in await host.files()][:2] == words


# Refusals


@pytest.mark.parametrize("size", [SHORT, 10 * LONG])
async def test_invalid_base64_names_its_field(tmp_path: Path, size: int) -> None:
    async with hosted(tmp_path) as host:
        bad = file_part("data:image/png;base64," + "A" * size + "*")
        body = {"id": "c", "messages": [said("m0"), said("m1", bad)]}
        refused = (await host.client.post("/api/chat", json=body)).json()["error"]
        assert refused["field"] == "messages[1].parts[1].url"
        assert "expected base64 in a data: URL" in refused["message"]
        assert (await host.storage.chats(OWNER)).chats == ()


async def test_escaped_slashes_are_decoded(tmp_path: Path) -> None:
    data = photo()
    async with hosted(tmp_path) as host:
        body = json.dumps({"id": "c", "messages": [said("m1", file_part(data_url(data)))]})
        answer = await host.post("/api/chat", body.replace("/", "\\/").encode())
        assert text_of(answer).split() == [sha(data)]


async def test_limits_of_a_chat_request_name_their_settings(tmp_path: Path) -> None:
    limits = {"max_body": 50_000, "max_chat_body": 1_000_000, "max_file": 300_000}
    async with hosted(tmp_path, **limits) as host:
        ok = said("m1", file_part(data_url(photo(290_000))))
        await host.send(ok)
        cases = [
            (file_part(data_url(photo(310_000))), "--max-file)"),
            (file_part(data_url(photo(900_000))), "--max-chat-body)"),
            ({"type": "text", "text": "x" * 60_000}, "--max-body)"),
            ({"type": "text", "text": "x" * 600_000}, "--max-body)"),
        ]
        for part, setting in cases:
            body = json.dumps({"id": "d", "messages": [said("m1", part)]}).encode()
            refused = await host.client.post("/api/chat", content=body, headers=JSON)
            assert refused.status_code == 413
            assert setting in refused.json()["error"]["message"]
        answer = await host.client.post(
            "/api/chat/c/answer", content=b'{"x":"' + b"y" * 60_000 + b'"}', headers=JSON
        )
        assert answer.status_code == 413


async def test_nothing_is_left_in_the_data_folder(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        await host.send(said("m1", file_part(data_url(photo()))))
        names = {path.name.partition(".")[0] for path in host.data.iterdir()}
        assert names <= {"mobox", "mobox-files", "state", "logs"}


# AG-UI


def agui(*messages: dict[str, Any], run: str = "r1", **more: Any) -> bytes:
    return json.dumps({"threadId": "c", "runId": run, "messages": messages, **more}).encode()


def content(*parts: dict[str, Any]) -> dict[str, Any]:
    script = {"type": "text", "text": prompt(["files"])}
    return {"id": "m1", "role": "user", "content": [script, *parts]}


def image(data: bytes) -> dict[str, Any]:
    value = base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "data", "value": value, "mimeType": "image/png"}}


def agui_text(body: str) -> str:
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


DATA = photo()
BINARY = {"type": "binary", "mimeType": "image/png", "data": base64.b64encode(DATA).decode()}


@pytest.mark.parametrize(
    "part",
    [
        image(DATA),
        BINARY,
        {**BINARY, "data": None, "url": data_url(DATA)},
        {"type": "document", "source": {"type": "url", "value": data_url(DATA)}},
    ],
)
async def test_media_of_ag_ui_are_moved_to_the_store(tmp_path: Path, part: dict[str, Any]) -> None:
    async with hosted(tmp_path) as host:
        answer = await host.post("/api/agui/chat", agui(content(part)))
        assert agui_text(answer).split() == [sha(DATA)]
        (file,) = await host.files()
        assert (file.media_type, file.file_id is not None) == ("image/png", True)


@pytest.mark.parametrize("kind", ["document", "binary"])
async def test_ag_ui_names_an_uploaded_file_by_its_id(tmp_path: Path, kind: str) -> None:
    async with hosted(tmp_path) as host:
        uploaded = (await host.client.post("/api/files", content=DATA)).json()["id"]
        source = {"type": "document", "source": {"type": "file", "value": uploaded}}
        binary = {"type": "binary", "mimeType": "image/png", "id": uploaded}
        part = source if kind == "document" else binary
        answer = await host.post("/api/agui/chat", agui(content(part)))
        assert agui_text(answer).split() == [sha(DATA)]


async def test_ag_ui_compares_files_by_their_bytes(tmp_path: Path) -> None:
    """The same message again regenerates; other bytes are an edit; an address is the same file."""
    async with hosted(tmp_path) as host:
        await host.post("/api/agui/chat", agui(content(image(DATA))))
        connected = await host.post("/api/agui/chat/connect", agui(run="r2"))
        events = [json.loads(line[6:]) for line in connected.splitlines() if line[:5] == "data:"]
        (snapshot,) = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"]
        served = snapshot["messages"][0]
        (file,) = await host.files()
        assert served["content"][1]["source"]["value"] == file.url
        for n, again in enumerate([content(image(DATA)), {**served, "id": "m1"}]):
            await host.post("/api/agui/chat", agui(again, run=f"again{n}"))
            assert [run.superseded for run in await host.storage.runs(OWNER, "c")] == [
                *[True] * (n + 1),
                False,
            ]
            assert await host.files() == [file]
        await host.post("/api/agui/chat", agui(content(image(photo(seed=2))), run="edit"))
        assert await host.files() != [file]


async def test_a_long_tool_result_of_ag_ui_is_kept(tmp_path: Path) -> None:
    """It is read as JSON, so it must be the text itself."""
    async with hosted(tmp_path) as host:
        result = {
            "id": "t1",
            "role": "tool",
            "toolCallId": "x",
            "content": "[" + "1," * LONG + "1]",
        }
        words = {"id": "m1", "role": "user", "content": prompt(text("x" * 2))}
        refused = await host.client.post("/api/agui/chat", content=agui(result), headers=JSON)
        assert refused.status_code == 404  # read, but nobody waits for it
        await host.post("/api/agui/chat", agui(result, words, run="r2"))


# Deleting


async def test_files_go_with_their_chat(tmp_path: Path) -> None:
    clock = Clock(10 * UNNAMED)
    async with hosted(tmp_path, clock=clock) as host:
        await host.send(said("m1", file_part(data_url(photo()))))
        (file,) = await host.files()
        clock.now += IN_FLIGHT + 1
        assert (await host.client.delete(file.url)).status_code == 409
        await host.client.delete("/api/chats/c")
        assert (await host.client.get(file.url)).status_code == 404


async def test_a_refused_message_leaves_a_file_that_is_swept(tmp_path: Path) -> None:
    clock = Clock(10 * UNNAMED)
    async with hosted(tmp_path, clock=clock) as host:
        body = {"id": "c", "agent": "nobody", "messages": [said("m1", file_part(data_url(DATA)))]}
        assert (await host.client.post("/api/chat", json=body)).status_code == 400
        uploaded = (await host.client.post("/api/files", content=DATA)).json()
        clock.now += UNNAMED + 1
        await sweep_files(host.storage)
        assert (await host.client.get(uploaded["url"])).status_code == 404


# Agents


async def test_large_files_are_in_the_state_folder(tmp_path: Path) -> None:
    large, small = photo(INLINE), photo(1000)
    async with hosted(tmp_path) as host:
        parts = [file_part(data_url(each)) for each in (large, photo(INLINE, 2), small)]
        answer = await host.send(said("m1", *parts))
        assert text_of(answer).split() == [sha(large), sha(photo(INLINE, 2)), sha(small)]
        copies = list((host.data / "state").glob("*/files/*"))
        assert sorted(path.suffix for path in copies) == [".png", ".png"]
        answer = await host.send(said("m2"))
        assert len(text_of(answer).split()) == 3
        await host.client.delete("/api/chats/c")
        assert not list((host.data / "state").glob("[!.]*"))


async def test_a_link_in_the_state_folder_is_not_followed(tmp_path: Path) -> None:
    async with hosted(tmp_path) as host:
        await host.send(said("m1", file_part(data_url(photo()))))
        await host.send(said("m2"))
        (copy,) = (host.data / "state").glob("*/files/*")
        copy.unlink()
        victim = tmp_path / "victim"
        victim.write_bytes(b"mine")
        copy.symlink_to(victim)
        answer = await host.send(said("m3"))
        assert text_of(answer).split() == [sha(photo())]
        assert (victim.read_bytes(), copy.is_symlink()) == (b"mine", False)
        folder = copy.parent
        copy.unlink()
        folder.rmdir()
        folder.symlink_to(tmp_path)
        await host.send(said("m4", words=prompt(text("Hi"))))
        assert not [name for name in names_in(tmp_path) if name.startswith("file_")]


@mobox.agent("hashes")
async def hashes(turn: mobox.Turn) -> str:
    parts = [*turn.parts, *(part for said in turn.history for part in said["parts"])]
    return " ".join(sha(turn.file(part)) for part in parts if part["type"] == "file")


async def test_a_function_reads_files_and_an_app_serves_them(tmp_path: Path) -> None:
    app = FastAPI()
    box = mobox.mount(
        app,
        principal=lambda connection: connection.headers.get("x-user"),
        agents=[hashes],
        data=tmp_path,
        max_body=50_000,
    )

    @app.post("/chat")
    async def chat(request: Request) -> Response:
        return await box.respond(request, agent="hashes")

    @app.post("/upload")
    async def upload(request: Request) -> Response:
        return box.upload(request)

    @app.get("/files/{file_id}")
    async def file(request: Request, file_id: str) -> Response:
        return box.file(request, file_id)

    large, small = photo(INLINE), photo(1000)
    async with running(app) as client:
        body = {"id": "c", "messages": [said("m1", file_part(data_url(large)))]}
        assert text_of((await client.post("/chat", json=body)).text).split() == [sha(large)]
        uploaded = (await client.post("/upload", content=small)).json()
        assert uploaded["url"].startswith("/mobox/api/files/")
        assert (await client.get(uploaded["url"])).content == small
        assert (await client.get(f"/files/{uploaded['id']}")).content == small
        body = {"id": "c", "messages": [said("m2", file_part(uploaded["url"]))]}
        answer = text_of((await client.post("/chat", json=body)).text)
        assert answer.split() == [sha(small), sha(large)]


def test_a_file_elsewhere_is_not_read() -> None:
    turn = Turn({})
    assert turn.file({"url": "data:text/plain,a%20b"}) == b"a b"
    assert turn.file({"url": data_url(b"x")}) == b"x"
    for part in ({"url": "https://other.example/x"}, {}):
        with pytest.raises(ValueError, match="fetch part"):
            turn.file(part)
