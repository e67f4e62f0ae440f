"""Clients that read a run over connections that break: each comes back, here or at another server.

They are light, and raw: what they have is what came over the wire. Those of the AI SDK and of
AG-UI read a run again from its beginning, as their protocols want it; that of the log goes on where
it was.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import uuid4

import httpx

from server.live_server import WANTS_JSON

SILENCE = 2.0
"""Seconds after which a client tries another server: less than a server here is asleep for."""
BREATH = 0.1
"""Seconds between two tries."""
BUSY = (429, 503)

Json = dict[str, Any]


class Doors:
    """The servers, of which any will do."""

    def __init__(self, clients: Sequence[httpx.AsyncClient], seed: int) -> None:
        self._clients = clients
        self._random = random.Random(seed)

    def any(self) -> httpx.AsyncClient:
        return self._random.choice(self._clients)

    async def insist(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The answer of a server that has one; whoever reads nothing of it leaves."""
        while True:
            try:
                async with self.any().stream(method, path, **more) as response:
                    if response.status_code not in BUSY:
                        if "event-stream" not in response.headers.get("content-type", ""):
                            await response.aread()
                        return response
            except httpx.TransportError:
                pass
            await asyncio.sleep(BREATH)


@asynccontextmanager
async def open_doors(addresses: Sequence[str], seed: int) -> AsyncIterator[Doors]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    clients = [
        httpx.AsyncClient(
            base_url=url, timeout=SILENCE, limits=limits, trust_env=False, headers=WANTS_JSON
        )
        for url in addresses
    ]
    try:
        yield Doors(clients, seed)
    finally:
        for client in clients:
            await client.aclose()


class Told(NamedTuple):
    """One document, with the place after it where the protocol has such."""

    place: str | None
    data: str


class Follower:
    """A client of one run, until it has all of it."""

    METHOD = "GET"

    def __init__(self, doors: Doors, chat_id: str, run_id: str) -> None:
        self.chat_id = chat_id
        self.run_id = run_id
        self.told: list[Told] = []
        self.visits = 0
        self.is_over = False
        self._doors = doors
        self._news = asyncio.Condition()

    async def follow(self) -> None:
        while not self.is_over:
            self.visits += 1
            try:
                await self._visit()
            except httpx.TransportError:
                await self._cut_off()
            async with self._news:
                self._news.notify_all()
            await asyncio.sleep(BREATH)

    async def until(self, happened: Callable[[], object]) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self.is_over or happened())

    async def _visit(self) -> None:
        raise NotImplementedError

    async def _cut_off(self) -> None:
        """A connection broke."""

    async def _read(self, path: str, **more: Any) -> int:
        """Note what a response tells; its status, if it came to its proper end."""
        door = self._doors.any()
        async with door.stream(self.METHOD, path, **more) as response:
            if response.status_code == 200:
                place = None
                async for line in response.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "id":
                        place = value
                    elif name == "data":
                        await self._note(Told(place, value))
            return response.status_code

    async def _note(self, told: Told) -> None:
        async with self._news:
            self.told.append(told)
            self._news.notify_all()


class LogFollower(Follower):
    """Reads the log itself, each time from the place where it was."""

    def __init__(self, doors: Doors, chat_id: str, run_id: str) -> None:
        super().__init__(doors, chat_id, run_id)
        self.kinds: list[str] = []

    async def _visit(self) -> None:
        after = {"after": self.told[-1].place} if self.told else {}
        status = await self._read(f"/api/runs/{self.run_id}/events", params=after)
        assert status in (200, 204, *BUSY)
        self.is_over = self.kinds[-1:] == ["done"]

    async def _note(self, told: Told) -> None:
        self.kinds.append(json.loads(told.data)["event"]["type"])
        await super()._note(told)

    async def says(self, words: int) -> None:
        """Wait until the agent has said so many."""
        await self.until(lambda: self.kinds.count("text_delta") >= words)

    async def asks(self) -> bool:
        """Wait until it waits for an answer, or for nothing more."""
        await self.until(lambda: "paused" in self.kinds)
        return "paused" in self.kinds


class WholeFollower(Follower):
    """Reads all of it again whenever it comes, until that is all there ever will be."""

    def __init__(self, doors: Doors, chat_id: str, run_id: str) -> None:
        super().__init__(doors, chat_id, run_id)
        self.broken: list[list[Told]] = []
        """What came of responses that were cut off."""

    async def _visit(self) -> None:
        chat = await self._doors.insist("GET", f"/api/chats/{self.chat_id}")
        was_over = chat.json()["activeRun"] is None
        self.told = []
        status = await self._read_whole()
        assert status in (200, *BUSY)
        self.is_over = was_over and status == 200

    async def _cut_off(self) -> None:
        self.broken.append(self.told)

    async def _read_whole(self) -> int:
        raise NotImplementedError


class AiSdkFollower(WholeFollower):
    """As a page with `useChat` attaches."""

    async def _read_whole(self) -> int:
        path = f"/api/chat/{self.chat_id}/stream"
        return await self._read(path, params={"run": self.run_id})


class AgUiFollower(WholeFollower):
    """As a page of AG-UI connects to its thread, and wants the last run as it was told."""

    METHOD = "POST"

    def __init__(self, doors: Doors, chat_id: str, run_id: str) -> None:
        super().__init__(doors, chat_id, run_id)
        self.asked = str(uuid4())
        """What it calls its request."""

    async def _read_whole(self) -> int:
        body = {"threadId": self.chat_id, "runId": self.asked, "protocolVersion": "1.0"}
        path = "/api/agui/chat/connect"
        return await self._read(path, params={"replay": "1"}, json={**body, "messages": []})


async def begin(doors: Doors, chat_id: str, words: str) -> str:
    """Say something, and leave; the run that answers. However often it is said, it is one."""
    said = {"id": f"said-{chat_id}", "role": "user", "parts": [{"type": "text", "text": words}]}
    told = await doors.insist("POST", "/api/chat", json={"id": chat_id, "messages": [said]})
    assert told.status_code == 200, (told.status_code, told.content)
    return str(told.headers["x-mobox-run"])


async def answer(doors: Doors, chat_id: str, request_id: str, value: str) -> None:
    """Answer what is asked. Who did not hear whether he was heard says it again, when it may be
    answered already, or the run over: one that was not answered never ends."""
    said = {"requestId": request_id, "value": value}
    told = await doors.insist("POST", f"/api/chat/{chat_id}/answer", json=said)
    assert told.status_code in (202, 200, 409, 400), (told.status_code, told.content)
