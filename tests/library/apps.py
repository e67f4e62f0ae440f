"""Apps of somebody's with a box in them, and who asks there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request, Response
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp

import mobox


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
async def running(app: ASGIApp, host: str = "localhost") -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app whose lifespan is run, as servers do it."""
    async with AsyncExitStack() as stack:
        if isinstance(app, Starlette):
            await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = httpx.AsyncClient(
            transport=transport,
            base_url=f"http://{host}",
            headers={"x-user": "ann", "accept": "application/json"},
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


JSON = {"content-type": "application/json"}


def own_routes(folder: Path, **options: Any) -> tuple[FastAPI, mobox.Mobox]:
    app = FastAPI()
    box = box_in(app, folder, **options)

    @app.post("/ask/{user}")
    async def ask(request: Request, user: str) -> Response:
        answer = await box.respond(request, owner=user, agent="shout")
        answer.set_cookie("seen", "yes")
        answer.headers["cache-control"] = "private"
        return answer

    @app.post("/ag-ui")
    async def ag_ui(request: Request) -> Response:
        return await box.respond(request, agent="shout", protocol="ag-ui")

    @app.post("/ag-ui/connect")
    async def connect(request: Request) -> Response:
        return box.connect(request)

    @app.post("/body")
    async def with_body(request: Request, body: dict[str, Any]) -> Response:
        assert body["id"] == "c"
        return await box.respond(request)

    @app.get("/ask/{chat_id}/stream")
    async def again(request: Request, chat_id: str) -> Response:
        return box.resume(request, chat_id)

    @app.get("/entries/{run_id}")
    async def entries(request: Request, run_id: str) -> Response:
        return box.stream(request, run_id)

    @app.get("/told/{run_id}")
    async def told(request: Request, run_id: str, protocol: str = "canonical") -> Response:
        return box.stream(request, run_id, protocol=protocol)

    return app, box
