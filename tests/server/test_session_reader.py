"""A session is told from one place in its log on, whenever somebody joins."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from engineio.async_socket import AsyncSocket

from mobox.delivery.socketio import Refusal, Socket, Sockets
from mobox.delivery.socketio_packets import EventPayload, Flow
from mobox.events import JSON, Done, InputRequest, Paused, Start
from mobox.formatters.agent_event import AgentEventFormatter
from mobox.server.readers import Readers
from mobox.server.runs.reader import Batch, RunReader
from mobox.server.session_index import Format, SessionIndex
from mobox.server.socketio.reader import IndexedSession, Session, SessionBatch, SessionSources
from mobox.server.socketio.sessions import Subscription
from mobox.storage import Storage, open_storage
from mobox.storage.log import RunId
from storage.conformance import BEGINNING, ENDING, begin, say, submit, words

SESSION = Session("ann", "chat", Format("agent-event"))
ASKS = [Start(framework="demo"), InputRequest(id="q"), Paused(request_ids=("q",))]
Indexes = list[tuple[int, str]]


@pytest.fixture
async def store() -> AsyncIterator[Storage]:
    store = await open_storage("memory:")
    yield store
    await store.close()


def sources_of(store: Storage) -> SessionSources:
    return SessionSources(store, SessionIndex(store), Readers(store, lambda: False))


class Reader:
    """Somebody who has joined, and notes what comes."""

    def __init__(self, store: Storage, last: int) -> None:
        self.told: Indexes = []
        self._reading = IndexedSession(sources_of(store), SESSION, last)
        self._heard = asyncio.Event()

    async def join(self) -> None:
        await self._reading.open()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for told in self._reading.batches():
            events = [json.loads(document) for _, document in told.documents]
            self.told += [(event["eventIndex"], event["type"]) for event in events]
            self._heard.set()

    async def heard(self, last: int) -> Indexes:
        """All that came, once there is such an index."""
        while not any(index == last for index, _ in self.told):
            self._heard.clear()
            await self._heard.wait()
        return self.told

    def leave(self) -> None:
        self._task.cancel()


@contextmanager
def leaving(*readers: Reader) -> Iterator[None]:
    try:
        yield
    finally:
        for reader in readers:
            reader.leave()


async def test_client_joining_before_the_next_run_emits_gets_the_end_of_the_last_one(
    store: Storage,
) -> None:
    """A run is begun before the one that waits is cancelled."""
    stays, joins = Reader(store, -1), Reader(store, 0)
    waiting = await begin(store)
    await say(store, waiting, *ASKS)
    await stays.join()
    assert await stays.heard(0) == [(0, "session_start")]
    run = await begin(store, submit(message_id="u2"))
    await joins.join()
    with leaving(stays, joins):
        await say(store, waiting, Done(reason="cancelled"))
        await say(store, run, *BEGINNING, *words("Hi"), *ENDING)
        whole = await stays.heard(5)
        assert whole[1] == (1, "complete")
        assert await joins.heard(5) == whole[1:]


def alive(*kinds: type) -> int:
    gc.collect()
    return sum(isinstance(each, kinds) for each in gc.get_objects())


class Nobody:
    """A listener to whom nobody says anything."""

    async def connect(self, socket: Socket, auth: JSON) -> Refusal | None:
        raise NotImplementedError

    async def handle(self, socket: Socket, event: str, said: EventPayload) -> object:
        raise NotImplementedError

    async def disconnect(self, socket: Socket) -> None:
        raise NotImplementedError

    async def drain(self) -> None:
        raise NotImplementedError


class Taker:
    """A socket whose client takes everything and keeps nothing."""

    def __init__(self) -> None:
        sockets = Sockets(Nobody(), max_bytes=1000)
        self._engine_socket = AsyncSocket(sockets._engine, "engine")
        self._engine_socket.session["flow"] = Flow()
        sockets._engine.sockets["engine"] = self._engine_socket
        self.socket = Socket(sockets._server, "name", self._engine_socket, {})

    async def take(self, count: int) -> None:
        """Take so many packets."""
        while count > 0:
            for packet in await self._engine_socket.poll():
                packet.encode()
                count -= 1


async def nothing_asked(run_id: RunId) -> tuple[InputRequest, ...]:
    return ()


async def test_finished_reader_keeps_nothing_of_the_run(store: Storage) -> None:
    run = await begin(store)
    await say(store, run, *BEGINNING, *words(*["word "] * 1000), *ENDING)
    kinds = (AgentEventFormatter, RunReader, Batch, SessionBatch)
    before = alive(*kinds)
    reading, taker = IndexedSession(sources_of(store), SESSION, -1), Taker()
    await reading.open()
    subscription = Subscription(taker.socket, SESSION, reading, store)
    subscription.start()
    await taker.take(1003)
    await subscription.drain()
    assert alive(*kinds) == before
    await subscription.stop()
