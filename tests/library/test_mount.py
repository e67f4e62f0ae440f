"""Mobox in somebody's FastAPI or Starlette app: its routes, its life, whose things are whose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

import mobox
from mobox.errors import (
    AgentTaken,
    InvalidAgent,
    InvalidSetting,
    NotFound,
    NotOpen,
    UnknownAgent,
    UnknownProtocol,
)
from mobox.library.options import Options, settings_of
from mobox.server.services import Services
from mobox.server.settings import Settings
from mobox.turn import Answer
from server.live_server import AGENTS, message
from supervisor.stage import run, until


@mobox.agent("echo")
async def echo(turn: mobox.Turn) -> AsyncIterator[str]:
    for word in ("You said ", turn.prompt):
        yield word


@mobox.agent("shout")
async def shout(turn: mobox.Turn) -> str:
    return turn.prompt.upper()


@mobox.agent("asker")
async def asker(turn: mobox.Turn) -> str:
    return f"So: {(await turn.ask('Which?', id='q')).value}"


def who(connection: HTTPConnection) -> str | None:
    return connection.headers.get("x-user")


@asynccontextmanager
async def running(app: ASGIApp, host: str = "app.example") -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app whose lifespan is run, as servers do it."""
    async with AsyncExitStack() as stack:
        if isinstance(app, Starlette):
            await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = httpx.AsyncClient(
            transport=transport, base_url=f"http://{host}", headers={"x-user": "ann"}
        )
        yield await stack.enter_async_context(client)


def box_in(app: Starlette, folder: Path, **options: Any) -> mobox.Mobox:
    agents = options.pop("agents", [echo, shout, asker])
    return mobox.mount(app, principal=who, agents=agents, data=folder, agent="echo", **options)


def text_of(body: str) -> str:
    """What the AI SDK's client would read."""
    frames = [line.removeprefix("data: ") for line in body.splitlines() if line]
    chunks = [json.loads(frame) for frame in frames if frame.startswith("{")]
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


# Mounted

APPS = pytest.mark.parametrize("make", [FastAPI, Starlette])


@APPS
def test_a_chat_below_a_path(tmp_path: Path, make: type[Starlette]) -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_sockets_are_below_that_path_too(tmp_path: Path) -> None:
    async def scenario() -> str:
        app = FastAPI()
        box_in(app, tmp_path)
        async with running(app) as client:
            return (await client.get("/mobox/socket.io/?EIO=4&transport=polling")).text

    assert '"sid"' in run(scenario())


def test_everybody_has_chats_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        app = FastAPI()
        box_in(app, tmp_path)
        async with running(app) as client:
            await client.post("/mobox/api/chat", json=message("hers", "hello"))
            bob, nobody = {"x-user": "bob"}, {"x-user": ""}
            assert (await client.get("/mobox/api/chats", headers=bob)).json()["chats"] == []
            foreign = await client.get("/mobox/api/chats/hers", headers=bob)
            assert foreign.status_code == 404
            assert (await client.get("/mobox/api/chats", headers=nobody)).status_code == 401

    run(scenario())


def test_who_asks_may_be_looked_up(tmp_path: Path) -> None:
    async def slowly(connection: HTTPConnection) -> str | None:
        await asyncio.sleep(0)
        return who(connection)

    async def scenario() -> None:
        app = FastAPI()
        mobox.mount(app, "/a/b", principal=slowly, agents=[echo], data=tmp_path)
        async with running(app) as client:
            assert (await client.get("/a/b/api/chats")).status_code == 200
            assert (await client.get("/a/b/api/chats", headers={"x-user": ""})).status_code == 401

    run(scenario())


def test_somebody_may_only_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        app, reads = FastAPI(), mobox.Principal("ann", ("read",))
        mobox.mount(app, principal=lambda _: reads, agents=[echo], data=tmp_path)
        async with running(app) as client:
            assert (await client.get("/mobox/api/chats")).status_code == 200
            refused = await client.post("/mobox/api/chat", json=message("c", "hello"))
            assert refused.status_code == 403

    run(scenario())


def test_a_page_of_another_origin_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        app = FastAPI()
        box_in(app, tmp_path)
        async with running(app) as client:
            for origin, status in (("http://app.example", 200), ("http://evil.example", 403)):
                told = {"origin": origin}
                answer = await client.get("/mobox/api/chats", headers=told)
                assert answer.status_code == status

    run(scenario())


def test_the_names_of_the_app_can_be_listed(tmp_path: Path) -> None:
    async def scenario() -> None:
        app = FastAPI()
        box_in(app, tmp_path, allowed_hosts=("app.example",))
        for host, status in (("app.example", 200), ("rebound.example", 421)):
            async with running(app, host) as client:
                assert (await client.get("/mobox/api/chats")).status_code == status

    run(scenario())


# Its life


def test_an_app_keeps_its_own_lifespan(tmp_path: Path) -> None:
    seen: list[object] = []

    @asynccontextmanager
    async def theirs(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        seen.append(box.supervisor.closing)  # it is open by then
        yield {"db": "theirs"}
        seen.append(box.supervisor.closing)

    app = FastAPI(lifespan=theirs)
    box = box_in(app, tmp_path)

    async def scenario() -> None:
        for _ in range(2):
            async with app.router.lifespan_context(app) as state:
                assert state == {"db": "theirs"}

    run(scenario())
    assert seen == [False] * 4
    with pytest.raises(NotOpen):
        _ = box.supervisor


def test_what_runs_when_the_app_ends_is_ended(tmp_path: Path) -> None:
    @mobox.agent("patient")
    async def patient() -> AsyncIterator[str]:
        yield "I wait"
        await asyncio.Event().wait()

    async def scenario() -> str | None:
        app = FastAPI()
        box = box_in(app, tmp_path, agents=[patient, echo])
        async with running(app):
            begun = await box.begin("ann", "hello", agent="patient")
            await box.storage.beyond(begun.id, 2)
        async with running(app):
            return (await box.storage.run("ann", begun.id)).reason

    assert run(scenario()) == "interrupted"


def test_a_box_whose_lifespan_nobody_runs_says_so(tmp_path: Path) -> None:
    box = mobox.Mobox(agents=[echo], data=tmp_path)
    with pytest.raises(NotOpen, match="lifespan"):
        run(box.begin("ann", "hello"))
    transport = httpx.ASGITransport(box)

    async def asks() -> None:
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            await client.get("/healthz")

    with pytest.raises(NotOpen):
        run(asks())


# In a route of one's own


JSON = {"content-type": "application/json"}


def own_routes(folder: Path, **options: Any) -> tuple[FastAPI, mobox.Mobox]:
    app = FastAPI()
    box = box_in(app, folder, **options)

    @app.post("/ask/{user}")
    async def ask(request: Request, user: str) -> Response:
        answer = await box.respond(request, owner=user, agent="shout")
        answer.set_cookie("seen", "yes")
        return answer

    @app.post("/ag-ui")
    async def ag_ui(request: Request) -> Response:
        return await box.respond(request, agent="shout", protocol="ag-ui")

    @app.post("/body")
    async def with_body(request: Request, body: dict[str, Any]) -> Response:
        assert body["id"] == "c"
        return await box.respond(request)

    @app.get("/ask/{chat_id}/stream")
    async def again(request: Request, chat_id: str) -> Response:
        return box.resume(request, chat_id)

    @app.get("/told/{run_id}")
    async def told(request: Request, run_id: str, protocol: str = "canonical") -> Response:
        return box.stream(request, run_id, protocol=protocol)

    return app, box


def test_one_durable_response(tmp_path: Path) -> None:
    async def scenario() -> None:
        app, box = own_routes(tmp_path)
        async with running(app) as client:
            from_elsewhere = {"origin": "http://page.example", "sec-fetch-site": "cross-site"}
            answer = await client.post(
                "/ask/eve?profile=v6", json=message("c", "hello"), headers=from_elsewhere
            )
            assert (answer.status_code, text_of(answer.text)) == (200, "HELLO")
            assert answer.cookies["seen"] == "yes"
            assert answer.headers["content-type"].startswith("text/event-stream")
            run_id = answer.headers["x-mobox-run"]
            assert (await box.storage.run("eve", run_id)).agent == "shout"
            assert (await client.get(f"/told/{run_id}")).status_code == 404  # it is Eve's

    run(scenario())


def test_a_route_leaves_who_asks_to_the_principal(tmp_path: Path) -> None:
    async def scenario() -> None:
        app, box = own_routes(tmp_path)
        async with running(app) as client:
            answer = await client.post("/body", json=message("c", "hello"))
            assert text_of(answer.text) == "You said hello"
            assert (await box.storage.chat("ann", "c")).title == "hello"
            refused = await client.post("/body", json=message("c", "x"), headers={"x-user": ""})
            assert refused.status_code == 401

    run(scenario())


def test_who_comes_back_reads_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        app, _ = own_routes(tmp_path)
        async with running(app) as client:
            answer = await client.post("/body", json=message("c", "hello"))
            run_id = answer.headers["x-mobox-run"]
            again = await client.get(f"/ask/c/stream?run={run_id}")
            assert again.text == answer.text
            whole = (await client.get(f"/told/{run_id}?protocol=ai-sdk")).text
            assert text_of(whole.replace("\nid: ", "\n\nid: ")) == "You said hello"
            first, rest = whole.split("\n\n", 1)
            place = first.partition("id: ")[2].partition("\n")[0]
            tail = await client.get(
                f"/told/{run_id}?protocol=ai-sdk", headers={"last-event-id": place}
            )
            assert tail.text == rest

    run(scenario())


def test_a_client_of_ag_ui_is_answered_too(tmp_path: Path) -> None:
    body = {
        "threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [],
        "forwardedProps": {}, "messages": [{"id": "m", "role": "user", "content": "hello"}],
    }  # fmt: skip

    async def scenario() -> str:
        app, _ = own_routes(tmp_path)
        async with running(app) as client:
            return (await client.post("/ag-ui", json=body)).text

    told = run(scenario())
    assert '"delta":"HELLO"' in told
    assert '"RUN_FINISHED"' in told


def test_what_is_wrong_with_a_request_is_told_as_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        app, box = own_routes(tmp_path)
        async with running(app) as client:
            for content in (b"{", b"[]", b"{}"):
                answer = await client.post("/ask/eve", content=content, headers=JSON)
                assert (answer.status_code, answer.json()["error"]["code"]) == (
                    400,
                    "invalid_request",
                )
        scope = {"type": "http", "headers": [], "query_string": b""}
        with pytest.raises(UnknownProtocol, match="ag-ui, ai-sdk"):
            await box.respond(Request(scope), protocol="telex")

    run(scenario())


def test_what_any_page_can_send_without_being_asked_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        app, box = own_routes(tmp_path)
        async with running(app) as client:
            body, plain = json.dumps(message("c", "hello")), {"content-type": "text/plain"}
            for path in ("/ask/eve", "/ag-ui"):
                answer = await client.post(path, content=body, headers=plain)
                assert answer.status_code == 415
            assert (await box.storage.chats("eve")).chats == ()

    run(scenario())


def test_nobody_is_told_what_was_in_an_exception(tmp_path: Path) -> None:
    canary = "postgres://app:c4nary@db"

    @mobox.agent("fails")
    def fails() -> None:
        raise RuntimeError(f"cannot connect to {canary}")

    async def scenario() -> None:
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
            for each in (*asked, f"{path}/events", f"{path}/stderr", "/mobox/api/chats/c"):
                read = await client.get(each)
                assert read.status_code == 200
                told.append(read.text)
        assert "The agent failed (RuntimeError)." in told[0]
        assert [text for text in told if "c4nary" in text] == []

    run(scenario())


async def in_pieces(read: list[int]) -> AsyncIterator[bytes]:
    for number in range(100):
        read.append(number)
        yield b" " * 1000


def test_a_body_is_read_after_it_is_known_who_asks_and_not_beyond_its_limit(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        app, _ = own_routes(tmp_path, max_body=10_000)
        async with running(app) as client:
            for user, status, most in (("", 401, 0), ("ann", 413, 11)):
                read: list[int] = []
                headers = JSON | {"x-user": user}
                answer = await client.post("/ag-ui", content=in_pieces(read), headers=headers)
                assert (answer.status_code, len(read)) == (status, most)
            told = JSON | {"content-length": "100000"}
            answer = await client.post("/ag-ui", content=in_pieces(read := []), headers=told)
            assert (answer.status_code, read) == (413, [])
            own = await client.post("/body", json={"id": "c", "more": "x" * 10_000})
            assert own.status_code == 413

    run(scenario())


# Without a request


def test_a_run_is_begun_read_and_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
            begun = await box.begin("ann", "hello", chat_id="c", key="once")
            entries = [entry async for entry in box.log("ann", begun.id)]
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert entries[-1].event.type == "done"
            assert (await box.begin("ann", "hello", chat_id="c", key="once")).id == begun.id
            rest = [entry async for entry in box.log("ann", begun.id, after=2)]
            assert rest == entries[2:]
            now = [entry async for entry in box.log("ann", begun.id, after=1, live=False)]
            assert now == entries[1:]
            frames = b"".join([frame async for frame in box.frames("ann", begun.id)])
            assert text_of(frames.decode()) == "You said hello"
            numbered = [frame async for frame in box.frames("ann", begun.id, "agent-event")]
            assert b'"eventIndex":0' in b"".join(numbered)
            with pytest.raises(NotFound):
                [entry async for entry in box.log("bob", begun.id)]

    run(scenario())


def test_owners_may_say_the_same_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
            hers = await box.begin("ann", "hello", key="daily")
            his = await box.begin("bob", "hello", key="daily")
            assert (hers.owner, his.owner) == ("ann", "bob")
            assert hers.chat_id != his.chat_id
            assert (await box.begin("ann", "hello", key="daily")).id == hers.id

    run(scenario())


def test_a_run_that_waits_is_answered_and_one_that_runs_is_stopped(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mobox.Mobox(agents=[asker], data=tmp_path) as box:
            begun = await box.begin("ann", "hello")
            waiting = b"".join([frame async for frame in box.frames("ann", begun.id)])
            assert b'"data-input"' in waiting
            answer = Answer(request_id="q", decision="answered", value="this")
            await box.answer("ann", begun.id, answer)
            frames = b"".join([frame async for frame in box.frames("ann", begun.id)])
            assert text_of(frames.decode()) == "So: this"
            other = await box.begin("ann", "hello")
            await box.stop("ann", other.id)
            await until(lambda: box.supervisor.running == 0)
            assert (await box.storage.run("ann", other.id)).reason == "cancelled"

    run(scenario())


def test_old_chats_are_pruned(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mobox.Mobox(agents=[echo], data=tmp_path) as box:
            begun = await box.begin("ann", "hello")
            _ = [entry async for entry in box.log("ann", begun.id)]
            assert (await box.prune(timedelta(days=1))).chats == 0
            assert (await box.prune(timedelta(days=-1))).chats == 1
            assert (await box.storage.chats("ann")).chats == ()

    run(scenario())


# What can be said of it


def test_functions_stand_beside_folders_of_agents(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        async with mobox.Mobox(agents=[echo, AGENTS], data=tmp_path) as box:
            return [agent.id for agent in box.supervisor.catalog]

    ids = run(scenario())
    assert "echo" in ids
    assert {folder.parent.name for folder in AGENTS.glob("*/agent.yaml")} < set(ids)


def test_what_is_wrong_with_it_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(AgentTaken):
        mobox.Mobox(agents=[echo, echo])
    with pytest.raises(InvalidSetting, match="no such folder"):
        mobox.Mobox(agents=["nowhere"])
    with pytest.raises(UnknownAgent):
        mobox.Mobox(agents=[echo], agent="nobody")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "agent.yaml").write_text("color: red")
    with pytest.raises(InvalidAgent, match="unknown field"):
        mobox.Mobox(agents=[tmp_path])


def test_its_options_are_settings_of_a_server() -> None:
    fields = set(Settings.__struct_fields__)
    assert Options.__annotations__.keys() <= fields
    of_a_process = {"auth", "host", "log_level", "port"}
    of_several = {"execute", "health_host", "health_port", "queue", "workers"}
    assert fields - Options.__annotations__.keys() == of_a_process | of_several


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"host": "0.0.0.0"}, "host=0.0.0.0: no option; known: agents, "),
        ({"auth": "keys"}, "auth=keys: no option"),
        ({"max_runs_per_minute": 0}, "max_runs_per_minute=0: expected a whole number"),
        ({"hold": "soon"}, "hold=soon: expected seconds"),
        ({"redis_url": "http://:s3cret@x"}, r"redis_url=http://\*\*\*@x: expected an address"),
        ({"allowed_origins": ("nonsense",)}, "allowed_origins=nonsense: "),
        ({"agents": [len]}, "agents=len: no agent yet: decorate it with @mobox.agent"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused(options: Any, problem: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{problem}"):
        mobox.Mobox(**options)


def test_options_mean_what_a_servers_settings_mean() -> None:
    given: Any = {"allowed_hosts": "App.example", "hold": 5, "data": "d", "redis_url": ""}
    settings = settings_of(given)
    assert settings.allowed_hosts == ("app.example",)
    assert (settings.hold, settings.data, settings.redis_url) == (5.0, Path("d"), "")


@pytest.mark.parametrize(
    ("options", "most"), [({}, 20), ({"max_runs_per_owner": 70}, 70), ({"max_runs": 7}, 7)]
)
def test_no_owner_of_a_box_can_take_all_of_its_runs(options: Any, most: int) -> None:
    assert settings_of(options).runs_per_owner == most


def test_a_box_that_cannot_be_opened_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Services] = []

    def cannot(services: Services, _principal: object) -> None:
        opened.append(services)
        raise OSError

    async def scenario() -> bool:
        monkeypatch.setattr("mobox.library.box.create_app", cannot)
        with pytest.raises(OSError):
            await mobox.Mobox(agents=[echo], data=tmp_path).__aenter__()
        return opened[0].supervisor.closing

    assert run(scenario())
