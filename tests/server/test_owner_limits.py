"""How much an owner may: streams that are open, runs that are begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import mobox.server
import mobox.storage
from mobox.errors import RateLimited, StorageError, TooManyStreams
from mobox.library import settings_of
from mobox.server.app import create_app, open_services
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.auth.principal import Principal
from mobox.server.auth.rate_limit import RateLimit
from mobox.settings import Settings, now_ms
from mobox.storage import SqliteStorage, Storage, open_storage
from mobox.storage.keys import ApiKey
from server.app_client import app_client, begin
from server.live_server import AGENTS, message
from server.server_with_keys import (
    ask_something,
    bearer,
    code_of,
    give_key,
    keyed_app,
    say_something,
)
from server.serving import client_of

EVENTS = "/api/runs/{}/events"


async def test_an_owner_begins_so_many_runs_a_minute(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, max_runs_per_minute=2) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        _, others = await give_key(services.storage, "bob")
        said = [
            await client.post("/api/chat", json=message(f"c{n}", "hello"), headers=bearer(secret))
            for n in range(3)
        ]
        assert [each.status_code for each in said] == [200, 200, 429]
        assert code_of(said[2]) == (429, "too_often")
        assert 1 <= int(said[2].headers["retry-after"]) <= 30
        assert int(said[2].headers["retry-after"]) == said[2].json()["error"]["retryAfter"]
        with pytest.raises(Exception, match="no chat 'c2'"):
            await services.storage.chat("ann", "c2")
        body = {
            "threadId": "c3",
            "runId": "r",
            "messages": [{"id": "m", "role": "user", "content": "hello"}],
        }
        over_ag_ui = await client.post("/api/agui/chat", json=body, headers=bearer(secret))
        assert code_of(over_ag_ui) == (429, "too_often"), "whatever the protocol"
        other = await client.post("/api/chat", json=message("c4", "hello"), headers=bearer(others))
        assert other.status_code == 200, "the limit is an owner's own"


@pytest.mark.parametrize("path", ["/api/chat", "/api/agui/chat"])
async def test_repeated_events_start_nothing(path: str, tmp_path: Path) -> None:
    def body(name: str) -> dict[str, object]:
        if path == "/api/chat":
            return message(name, "hello")
        said = {"id": f"m_{name}", "role": "user", "content": "hello"}
        return {"threadId": name, "runId": f"r_{name}", "messages": [said]}

    async with keyed_app(tmp_path, max_runs_per_minute=2) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        names = ["a", "a", "a", "b", "c"]
        said = [await client.post(path, json=body(name), headers=bearer(secret)) for name in names]
        assert [each.status_code for each in said] == [200, 200, 200, 200, 429]
        assert len({each.headers["x-mobox-run"] for each in said[:3]}) == 1


async def test_answering_starts_nothing(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, max_runs_per_minute=1) as (services, client):
        _, secret = await give_key(services.storage, "ann")
        said = await client.post("/api/chat", json=message("c", "hello"), headers=bearer(secret))
        assert said.status_code == 200
        await ask_something(services.storage, "ann", "asks", "How many?")
        answer = {"requestId": "ask_1", "value": "3"}
        answered = await client.post("/api/chat/asks/answer", json=answer, headers=bearer(secret))
        assert answered.status_code == 202


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store() -> AsyncIterator[Storage]:
    store = await open_storage("memory:")
    yield store
    await store.close()


async def test_rate_limit_recovers_with_time(store: Storage) -> None:
    clock = Clock()
    limit = RateLimit(6, clock)
    for _ in range(6):
        limit.take("ann")
    for waited, left in ((0, 10), (4, 6), (5.5, 1)):
        clock.now += waited
        with pytest.raises(RateLimited) as refused:
            limit.take("ann")
        assert refused.value.retry_after == left
    clock.now += 1
    limit.take("ann")
    with pytest.raises(RateLimited):
        limit.take("ann")
    clock.now += 3600
    for _ in range(6):
        limit.take("ann")
    with pytest.raises(RateLimited):
        limit.take("ann")


async def test_an_owner_has_so_many_streams_open(store: Storage) -> None:
    connections = ConnectionRegistry(store, 2)
    ann, bob = Principal("ann"), Principal("bob")
    first, _ = connections.add(ann), connections.add(ann)
    with pytest.raises(TooManyStreams):
        connections.add(ann)
    connections.add(bob)
    for _ in range(2):  # who is gone cannot leave again
        connections.remove(first)
    connections.add(ann)
    with pytest.raises(TooManyStreams):
        connections.add(ann)


async def test_excess_stream_is_rejected_before_anything_starts(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path, agents=AGENTS, database_url="memory:", auth="keys", max_streams=2
    )
    async with (
        open_services(settings) as services,
        client_of(create_app(services)) as client,
        AsyncExitStack() as streams,
    ):
        storage = services.storage
        secrets = {name: (await give_key(storage, name))[1] for name in ("ann", "bob")}
        run_id = await ask_something(storage, "ann", "hers", "How many?")
        ended = EVENTS.format(await say_something(storage, "ann", "other", "Hi"))
        opened = [
            await streams.enter_async_context(
                client.stream("GET", EVENTS.format(run_id), headers=bearer(secrets["ann"]))
            )
            for _ in range(2)
        ]
        assert [each.status_code for each in opened] == [200, 200]
        said = message("new", "hello")
        refused = await client.post("/api/chat", json=said, headers=bearer(secrets["ann"]))
        assert code_of(refused) == (429, "too_many_streams")
        assert refused.headers["retry-after"]
        assert not [c for c in (await storage.chats("ann")).chats if c.id == "new"]
        chats = await client.get("/api/chats", headers=bearer(secrets["ann"]))
        assert chats.status_code == 200, "only what stays open counts"
        other = await client.post("/api/chat", json=said, headers=bearer(secrets["bob"]))
        assert other.status_code == 200
        await opened[0].aclose()
        while (await client.get(ended, headers=bearer(secrets["ann"]))).status_code == 429:
            pass  # the server hears a moment later that somebody has left


async def test_without_keys_there_are_no_limits_of_an_owner(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        assert services.settings.runs_per_owner == services.settings.max_runs
        run = await begin(services, "c", "hello")
        for _ in range(services.settings.max_runs_per_minute + 1):
            other = {**message("c", "something else"), "whenRunning": "reject"}
            again = await client.post("/api/chat", json=other)
            assert code_of(again) == (409, "run_active")
        assert run.status == "running"


@pytest.mark.parametrize(
    ("told", "most"),
    [
        ({}, 200),
        ({"auth": "keys"}, 20),
        ({"auth": "keys", "max_runs_per_owner": 100}, 100),
        ({"auth": "keys", "max_runs": 10}, 10),
        ({"max_runs_per_owner": 7}, 7),
    ],
)
def test_an_owner_has_a_share_of_the_runs(told: dict[str, Any], most: int) -> None:
    assert Settings(**told).runs_per_owner == most


def test_every_layer_has_the_same_settings() -> None:
    assert mobox.server.Settings is mobox.storage.Settings is Settings
    assert Settings(auth="keys").runs_per_owner == settings_of({}).runs_per_owner


# Who may stay


class Guest:
    """Somebody who notes that they were sent away."""

    def __init__(self) -> None:
        self.sent_away = asyncio.Event()

    async def end(self) -> None:
        self.sent_away.set()


class SlowStore(SqliteStorage):
    """A store that answers when it is let: what it says is from before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        found = await super().keys_of(key_ids)
        self.is_asked.set()
        await self.may_answer.wait()
        return found


async def test_connection_opened_during_a_key_check_is_not_judged_by_it() -> None:
    store = await SlowStore.open_temporary()
    connections = ConnectionRegistry(store, None)
    old, _ = await give_key(store, "ann")
    first, second = Guest(), Guest()
    connections.add(Principal("ann", key_id=old.id)).end = first.end
    await store.revoke_key(old.id)
    await store.is_asked.wait()
    new, _ = await give_key(store, "ann")
    connections.add(Principal("ann", key_id=new.id)).end = second.end
    store.may_answer.set()
    await first.sent_away.wait()
    assert not second.sent_away.is_set()
    await store.close()


async def test_expired_connections_are_closed_and_others_are_not(store: Storage) -> None:
    connections = ConnectionRegistry(store, None)
    over, stays = Guest(), Guest()
    connections.add(Principal("ann", expires_at=now_ms())).end = over.end
    connections.add(Principal("bob", expires_at=now_ms() + 3_600_000)).end = stays.end
    connections.add(Principal("eve")).end = stays.end
    await over.sent_away.wait()
    assert not stays.sent_away.is_set()


class BrokenStore(SqliteStorage):
    """A store that cannot be asked at first, in one way and in another."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.problems: list[Exception] = [StorageError("gone"), ValueError("odd")]

    async def keys_of(self, key_ids: Collection[str]) -> list[ApiKey]:
        if self.problems:
            raise self.problems.pop()
        return await super().keys_of(key_ids)


async def test_a_store_that_fails_now_and_then_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mobox.server.auth.connections.CHECK_SECONDS", 0.01)
    store = await BrokenStore.open_temporary()
    connections, guest = ConnectionRegistry(store, None), Guest()
    connections.add(Principal("ann", key_id="key_gone")).end = guest.end
    await guest.sent_away.wait()
    assert not store.problems
    assert "odd" in caplog.text
    await store.close()
