"""The limits of an owner over two servers on one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from mobox.errors import RateLimited, TooManyStreams
from mobox.events.turn import Action, Request
from mobox.server.app import create_app, open_services
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.auth.principal import Principal
from mobox.server.auth.rate_limit import RateLimit
from mobox.server.services import Services
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.supervisor import SubmittedRun
from server.live_server import AGENTS, message
from server.server_with_keys import ask_something, bearer, code_of, give_key
from server.serving import client_of
from support.postgres_server import Databases
from support.waiting import until_async

EVENTS = "/api/runs/{}/events"


class Pair(NamedTuple):
    """Two servers on one database, and the keys of two owners."""

    services: Services
    one: httpx.AsyncClient
    two: httpx.AsyncClient
    ann: dict[str, str]
    bob: dict[str, str]


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'mobox.db'}"
    postgres: Databases = request.getfixturevalue("postgres")
    return await postgres.database(str(tmp_path))


@asynccontextmanager
async def two_servers(folder: Path, url: str, **more: Any) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        clients, every = [], []
        for name in ("one", "two"):
            settings = Settings(
                data=folder / name, agents=AGENTS, database_url=url, auth="keys", **more
            )
            services = await stack.enter_async_context(open_services(settings))
            clients.append(await stack.enter_async_context(client_of(create_app(services))))
            every.append(services)
        one, two = clients
        ann, bob = [bearer((await give_key(every[0].storage, name))[1]) for name in ("ann", "bob")]
        yield Pair(every[0], one, two, ann, bob)


async def test_starts_per_minute_count_at_both(tmp_path: Path, url: str) -> None:
    async with two_servers(tmp_path, url, max_runs_per_minute=2) as pair:

        async def say(client: httpx.AsyncClient, chat_id: str, key: dict[str, str]) -> int:
            body = message(chat_id, "hello")
            return (await client.post("/api/chat", json=body, headers=key)).status_code

        assert await say(pair.one, "c1", pair.ann) == 200
        assert await say(pair.one, "c1", pair.ann) == 200, "the same message counts once"
        assert await say(pair.two, "c2", pair.ann) == 200
        assert await say(pair.one, "c3", pair.ann) == 429
        assert await say(pair.two, "c3", pair.ann) == 429
        assert await say(pair.two, "c4", pair.bob) == 200


async def test_streams_count_at_both(tmp_path: Path, url: str) -> None:
    async with two_servers(tmp_path, url, max_streams=2) as pair, AsyncExitStack() as streams:
        events = EVENTS.format(await ask_something(pair.services.storage, "ann", "c1", "Why?"))
        opened = [
            await streams.enter_async_context(client.stream("GET", events, headers=pair.ann))
            for client in (pair.one, pair.two)
        ]
        assert [each.status_code for each in opened] == [200, 200]
        for client in (pair.one, pair.two):
            assert code_of(await client.get(events, headers=pair.ann)) == (429, "too_many_streams")
        said = await pair.one.post("/api/chat", json=message("c2", "hello"), headers=pair.bob)
        assert said.status_code == 200
        await opened[0].aclose()

        async def has_room() -> bool:
            async with pair.two.stream("GET", events, headers=pair.ann) as again:
                return again.status_code == 200

        await until_async(has_room)


async def test_runs_count_at_both(tmp_path: Path, url: str) -> None:
    async with two_servers(tmp_path, url, max_runs_per_owner=1) as pair, AsyncExitStack() as runs:
        body = message("c1", "count")
        running = pair.one.stream("POST", "/api/chat", json=body, headers=pair.ann)
        assert (await runs.enter_async_context(running)).status_code == 200
        for client in (pair.one, pair.two):
            body = message("c2", "hello")
            refused = await client.post("/api/chat", json=body, headers=pair.ann)
            assert code_of(refused) == (429, "too_many_runs")
        said = await pair.two.post("/api/chat", json=message("c3", "hello"), headers=pair.bob)
        assert said.status_code == 200
        await pair.two.post("/api/chat/c1/stop", json={}, headers=pair.ann)

        async def has_room() -> bool:
            body = message("c2", "hello")
            said = await pair.two.post("/api/chat", json=body, headers=pair.ann)
            return said.status_code == 200

        await until_async(has_room)


async def test_own_numbers_count_while_the_store_does_not_answer() -> None:
    store = await open_storage("memory:")
    await store.close()
    limit = RateLimit(2, store=store)
    request = Request(chat_id="c1", action=Action.SUBMIT)

    async def start() -> SubmittedRun:
        raise ConnectionError

    for _ in range(2):
        with pytest.raises(ConnectionError):
            await limit.submit("ann", request, start)
    with pytest.raises(RateLimited):
        await limit.submit("ann", request, start)
    connections = ConnectionRegistry(store, 1, store=store)
    first = connections.add(Principal("ann"))
    await connections.check_all_processes(first)
    with pytest.raises(TooManyStreams):
        connections.add(Principal("ann"))
    connections.remove(first)
    await connections.check_all_processes(connections.add(Principal("ann")))
