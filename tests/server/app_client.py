"""The application without a socket, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from mobox.events import Done, StreamEvent, Text, TextEnd
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import create_app, open_services
from mobox.server.auth.authentication import Authenticator
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.auth.rate_limit import RateLimit
from mobox.server.routes import starlette_routes
from mobox.server.services import Services
from mobox.settings import OWNER, Settings
from mobox.storage.log import Run
from server.live_server import AGENTS, WANTS_JSON, message


@asynccontextmanager
async def app_client(
    data: Path, database_url: str = "", root: str = "", **options: Any
) -> AsyncIterator[tuple[Services, httpx.AsyncClient]]:
    """A server's services, and a client; what the app raises is what a server would log."""
    settings = Settings(data=data, agents=AGENTS, database_url=database_url, **options)
    async with open_services(settings) as services:
        app = Starlette(routes=[Mount(root, create_app(services))])
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=WANTS_JSON
        ) as client:
            yield services, client


async def begin(services: Services, chat_id: str, text: str) -> Run:
    """A run that nobody executes, so that it says what a test wants."""
    request = read_request(message(chat_id, text))
    return (await services.storage.begin_turn(OWNER, request, "counter", "emitted")).run


async def say(services: Services, run: Run, *events: StreamEvent) -> None:
    await services.storage.append(run.id, run.epoch, events, 1000)


async def answered(services: Services, chat_id: str, text: str, answer: str) -> Run:
    """A turn that is over."""
    run = await begin(services, chat_id, text)
    said = Text(id="text_1", content=answer)
    await say(services, run, said, TextEnd(id="text_1"), Done(reason="stop"))
    return run


def routes_of(services: Services) -> list[BaseRoute]:
    """Everything that an app of these services serves, for clients without a principal."""
    connections = ConnectionRegistry(services.storage, None)
    return starlette_routes(services, Authenticator(lambda _: None, connections, RateLimit(None)))
