"""Mobox in somebody's FastAPI or Starlette app: below a path, its life, whose things are whose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

import mobox
from library.apps import box_in, echo, own_routes, running, text_of, who
from mobox.errors import (
    NotOpen,
)
from server.live_server import message
from support.waiting import until

APPS = pytest.mark.parametrize("make", [FastAPI, Starlette])


@APPS
async def test_a_chat_below_a_path(tmp_path: Path, make: type[Starlette]) -> None:
    app = make()
    box_in(app, tmp_path)
    async with running(app) as client:
        answer = await client.post("/mobox/api/chat", json=message("c", "hello"))
        assert (answer.status_code, text_of(answer.text)) == (200, "You said hello")
        chats = (await client.get("/mobox/api/chats")).json()["chats"]
        assert [chat["id"] for chat in chats] == ["c"]
        agents = (await client.get("/mobox/api/agents")).json()["agents"]
        assert [agent["id"] for agent in agents] == ["asker", "echo", "shout"]
        assert (await client.get("/api/chats")).status_code == 404


async def test_sockets_are_below_that_path_too(tmp_path: Path) -> None:
    app = FastAPI()
    box_in(app, tmp_path)
    async with running(app) as client:
        assert '"sid"' in (await client.get("/mobox/socket.io/?EIO=4&transport=polling")).text


async def test_owners_have_separate_chats(tmp_path: Path) -> None:
    app = FastAPI()
    box_in(app, tmp_path)
    async with running(app) as client:
        await client.post("/mobox/api/chat", json=message("hers", "hello"))
        bob, nobody = {"x-user": "bob"}, {"x-user": ""}
        assert (await client.get("/mobox/api/chats", headers=bob)).json()["chats"] == []
        foreign = await client.get("/mobox/api/chats/hers", headers=bob)
        assert foreign.status_code == 404
        assert (await client.get("/mobox/api/chats", headers=nobody)).status_code == 401


async def test_principal_may_be_looked_up(tmp_path: Path) -> None:
    async def slowly(connection: HTTPConnection) -> str | None:
        await asyncio.sleep(0)
        return who(connection)

    app = FastAPI()
    mobox.mount(app, "/a/b", principal=slowly, agents=[echo], data=tmp_path)
    async with running(app) as client:
        assert (await client.get("/a/b/api/chats")).status_code == 200
        assert (await client.get("/a/b/api/chats", headers={"x-user": ""})).status_code == 401


async def test_key_may_be_read_only(tmp_path: Path) -> None:
    app, reads = FastAPI(), mobox.Principal("ann", ("read",))
    mobox.mount(app, principal=lambda _: reads, agents=[echo], data=tmp_path)
    async with running(app) as client:
        assert (await client.get("/mobox/api/chats")).status_code == 200
        refused = await client.post("/mobox/api/chat", json=message("c", "hello"))
        assert refused.status_code == 403


async def test_a_page_of_another_origin_is_refused(tmp_path: Path) -> None:
    app = FastAPI()
    box_in(app, tmp_path)
    async with running(app) as client:
        for origin, status in (("http://localhost", 200), ("http://evil.example", 403)):
            told = {"origin": origin}
            answer = await client.get("/mobox/api/chats", headers=told)
            assert answer.status_code == status
    assert "mobox.mount(…, allowed_origins=('http://evil.example',))" in answer.text


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("testserver", 200),
     ("10.1.2.3:8000", 200), ("[fd00::1]", 200), ("rebound.example", 421), ("10.1", 421)],
)  # fmt: skip
async def test_app_accepts_local_hosts_and_explains_how_to_list_others(
    tmp_path: Path, host: str, status: int
) -> None:
    app, _ = own_routes(tmp_path)
    told = {"host": host}
    async with running(app) as client:
        below = await client.get("/mobox/api/chats", headers=told)
        own = await client.post("/body", json=message("c", "hello"), headers=told)
    assert (below.status_code, own.status_code) == (status, status)
    if status == 421:
        name = host.partition(":")[0]
        for answer in (below, own):
            assert f"mobox.mount(…, allowed_hosts=('{name}',))" in answer.text


async def test_the_names_of_the_app_can_be_listed(tmp_path: Path) -> None:
    app = FastAPI()
    box_in(app, tmp_path, allowed_hosts=("app.example",))
    names = (
        ("app.example", 200),
        ("localhost", 200),
        ("rebound.example", 421),
        ("testserver", 421),
    )
    for host, status in names:
        async with running(app, host) as client:
            assert (await client.get("/mobox/api/chats")).status_code == status


@pytest.mark.parametrize("names", ["*", ("*",)])
async def test_an_app_that_checks_its_names_itself_lets_any_pass(
    tmp_path: Path, names: Any
) -> None:
    app = FastAPI()
    box_in(app, tmp_path, allowed_hosts=names)
    async with running(app, "any.example") as client:
        assert (await client.get("/mobox/api/chats")).status_code == 200


async def test_message_of_an_exception_is_not_sent_to_clients(tmp_path: Path) -> None:
    canary = "postgres://app:c4nary@db"

    @mobox.agent("fails")
    def fails() -> None:
        raise RuntimeError(f"cannot connect to {canary}")

    app = FastAPI()
    box = box_in(app, tmp_path, agents=[echo, fails])
    async with running(app) as client:
        body = message("c", "hello") | {"agent": "fails"}
        answer = await client.post("/mobox/api/chat", json=body)
        told = [answer.text]
        await until(lambda: box.supervisor.running == 0)
        path = f"/mobox/api/runs/{answer.headers['x-mobox-run']}"
        formats = (await client.get("/mobox/api/formats")).json()["formats"]
        asked = [f"{path}/events?format={each['name']}" for each in formats]
        for each in (*asked, f"{path}/events", f"{path}/inspect", "/mobox/api/chats/c"):
            read = await client.get(each)
            assert read.status_code == 200
            told.append(read.text)
        told.append((await client.get(f"{path}/stderr")).text)
    later = FastAPI()
    box_in(later, tmp_path)  # without the agent that failed
    async with running(later) as client:
        read = await client.get(f"{path}/stderr")
        assert read.status_code == 403
        told.append(read.text)
    assert "The agent crashed." in told[0]
    assert [text for text in told if "c4nary" in text] == []


# Its life


async def test_an_app_keeps_its_own_lifespan(tmp_path: Path) -> None:
    seen: list[object] = []

    @asynccontextmanager
    async def theirs(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        seen.append(box.supervisor.closing)  # it is open by then
        yield {"db": "theirs"}
        seen.append(box.supervisor.closing)

    app = FastAPI(lifespan=theirs)
    box = box_in(app, tmp_path)
    for _ in range(2):
        async with app.router.lifespan_context(app) as state:
            assert state == {"db": "theirs"}
    assert seen == [False, True] * 2, "its runs end before what they use"
    with pytest.raises(NotOpen):
        _ = box.supervisor


async def test_active_runs_end_with_the_app(tmp_path: Path) -> None:
    @mobox.agent("patient")
    async def patient() -> AsyncIterator[str]:
        yield "I wait"
        await asyncio.Event().wait()

    app = FastAPI()
    box = box_in(app, tmp_path, agents=[patient, echo])
    async with running(app):
        begun = await box.begin("ann", "hello", agent="patient")
        await box.storage.beyond(begun.id, 2)
    async with running(app):
        assert (await box.storage.run("ann", begun.id)).reason == "interrupted"


async def test_a_function_has_what_the_app_opened_until_it_is_ended(tmp_path: Path) -> None:
    pool: list[str] = []
    used: list[bool] = []

    @asynccontextmanager
    async def theirs(_app: FastAPI) -> AsyncIterator[None]:
        pool.append("open")
        yield
        pool.clear()

    @mobox.agent("patient")
    async def patient() -> AsyncIterator[str]:
        try:
            yield "I wait"
            await asyncio.Event().wait()
        finally:
            used.append(bool(pool))

    app = FastAPI(lifespan=theirs)
    box = box_in(app, tmp_path, agents=[patient, echo])
    async with running(app):
        begun = await box.begin("ann", "hello", agent="patient")
        await box.storage.beyond(begun.id, 2)
    assert used == [True]


async def test_box_without_running_lifespan_raises(tmp_path: Path) -> None:
    box = mobox.Mobox(agents=[echo], data=tmp_path)
    with pytest.raises(NotOpen, match="lifespan"):
        await box.begin("ann", "hello")
    transport = httpx.ASGITransport(box)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        with pytest.raises(NotOpen):
            await client.get("/healthz")
