"""A server that asks for keys, and those who have some."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from msgspec.structs import replace

from mobox.events import Done, InputRequest, Paused, Start, Text, TextEnd
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import create_app, open_services
from mobox.server.auth.authentication import Hook
from mobox.server.auth.keys import new_key
from mobox.server.auth.principal import EVERY_SCOPE
from mobox.server.services import Services
from mobox.settings import Settings
from mobox.storage import SqliteStorage, Storage
from mobox.storage.keys import ApiKey
from mobox.storage.permissions import Permission
from server.live_server import AGENTS, WANTS_JSON, message

LONG_AGO = 1000


@asynccontextmanager
async def keyed_app(
    data: Path, hook: Hook | None = None, **more: Any
) -> AsyncIterator[tuple[Services, httpx.AsyncClient]]:
    """A server's services, and a client of it without a key."""
    settings = Settings(
        **{"data": data, "agents": AGENTS, "database_url": "memory:", "auth": "keys", **more}
    )
    async with open_services(settings) as services:
        transport = httpx.ASGITransport(create_app(services, hook), raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=WANTS_JSON
        ) as client:
            yield services, client


async def give_key(
    storage: Storage, owner: str, scopes: tuple[str, ...] = EVERY_SCOPE, **more: Any
) -> tuple[ApiKey, str]:
    """A key of that owner, and its secret."""
    key, secret = new_key(owner, "", scopes)
    key = replace(key, **more)
    await storage.add_key(key)
    return key, secret


async def give_key_at(data: Path, owner: str, **more: Any) -> tuple[ApiKey, str]:
    """The same beside a server in a process of its own."""
    storage = await SqliteStorage.open(data / "mobox.db")
    try:
        return await give_key(storage, owner, **more)
    finally:
        await storage.close()


async def revoke_at(data: Path, key: ApiKey) -> None:
    storage = await SqliteStorage.open(data / "mobox.db")
    try:
        await storage.revoke_key(key.id)
    finally:
        await storage.close()


def bearer(secret: str | None) -> dict[str, str]:
    return {} if secret is None else {"authorization": f"Bearer {secret}"}


async def say_something(
    storage: Storage, owner: str, chat_id: str, words: str, *allowed: Permission
) -> str:
    """A turn that is over, in which something was allowed for the chat; the id of its run."""
    asked = read_request(message(chat_id, "hello"))
    run = (await storage.begin_turn(owner, asked, "counter", "emitted")).run
    said = [Start(framework="emitted"), Text(id="t", content=words), TextEnd(id="t")]
    events = [*said, Done(reason="stop")]
    await storage.append(run.id, run.epoch, events, 1000, permissions=allowed)
    return run.id


async def ask_something(storage: Storage, owner: str, chat_id: str, words: str) -> str:
    """A run that waits for an answer; its id."""
    asked = read_request(message(chat_id, "question"))
    run = (await storage.begin_turn(owner, asked, "counter", "emitted")).run
    question = InputRequest(id="ask_1", kind="question", prompt=words)
    said = [Start(framework="emitted"), question, Paused(request_ids=("ask_1",))]
    await storage.append(run.id, run.epoch, said, 1000)
    return run.id


def code_of(response: httpx.Response) -> tuple[int, str]:
    """How it was refused."""
    return response.status_code, response.json()["error"]["code"]
