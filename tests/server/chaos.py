"""Runs, each with a client of every protocol, while a cluster is broken piece by piece."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from server.cluster import Cluster
from server.faults import FAULTS, Scene
from server.followers import (
    AgUiFollower,
    AiSdkFollower,
    Doors,
    Follower,
    LogFollower,
    answer,
    begin,
)
from server.reloaded_pages import Pages
from server.scripted_agent import Step, emit, prompt, text
from server.socket_clients import SocketClients, Watch

WORDS = 40
PACE = 0.05
"""Seconds between two words: a run lasts longer than most faults need to begin."""
HEARD = 5
"""Words after which a run is in the middle."""
ASKED = "ask_1"
EVERY = 3
"""One of so many runs asks a person something, and is answered at any server."""


class Conversation(NamedTuple):
    """What an agent is to say in a chat, and whether it asks something in the middle."""

    chat_id: str
    asks: bool

    @property
    def prompt(self) -> str:
        halves = (f"{self.chat_id}-a", f"{self.chat_id}-b")
        question: list[Step] = [["ask", ASKED, "Which?"]] if self.asks else []
        call = f"{self.chat_id}-call"
        return prompt(
            ["count", halves[0], 0, WORDS // 2, PACE],
            emit("text_end", id=halves[0]),
            emit("tool_use", id=call, name="look", input={"at": self.chat_id}),
            emit("tool_result", tool_use_id=call, content="seen"),
            *question,
            ["count", halves[1], WORDS // 2, WORDS, PACE],
            emit("text_end", id=halves[1]),
            text("The end."),
        )

    @property
    def text(self) -> str:
        """All of its answer."""
        first = (f"{self.chat_id}-a.{n} " for n in range(WORDS // 2))
        told = ["answered: red"] if self.asks else []
        second = (f"{self.chat_id}-b.{n} " for n in range(WORDS // 2, WORDS))
        return "".join([*first, *told, *second, "The end."])


class Watched(NamedTuple):
    """A run, and those who read it."""

    talk: Conversation
    log: LogFollower
    ai_sdk: AiSdkFollower
    ag_ui: AgUiFollower
    socket: Watch

    @property
    def followers(self) -> tuple[Follower, ...]:
        return self.log, self.ai_sdk, self.ag_ui


class Shown(NamedTuple):
    """What a page of a real client has of a run in the end."""

    client: str
    run_id: str
    messages: list[dict[str, Any]]


class Clients(NamedTuple):
    """Who reads: some light ones, sockets for every run, and pages for one of each fault."""

    doors: Doors
    sockets: SocketClients
    pages: Mapping[str, Pages]


class Chaos:
    """All that goes on while things break; what happens when is in the seed."""

    def __init__(self, cluster: Cluster, clients: Clients, seed: int) -> None:
        self.watched: list[Watched] = []
        self.shown: list[Shown] = []
        self._cluster = cluster
        self._clients = clients
        self._doors = clients.doors
        self._random = random.Random(seed)
        self._seed = seed
        self._count = 0
        self._tasks = asyncio.TaskGroup()

    async def go(self, scene: Scene, each: int) -> None:
        """Inflict every fault once, in any order, each upon so many new runs."""
        faults = list(FAULTS)
        self._random.shuffle(faults)
        async with self._tasks:
            for name in faults:
                print(f"seed {self._seed}: {name}", flush=True)
                await self._inflict(scene, name, each)

    async def _inflict(self, scene: Scene, name: str, each: int) -> None:
        """Half of the runs are in the middle when it happens, the others begin meanwhile."""
        talks = [self._talk() for _ in range(each)]
        half = (each + 1) // 2
        early = await asyncio.gather(*map(self._begin, talks[:half]))
        for name_of_client, pages in self._clients.pages.items():
            self._tasks.create_task(self._show(name_of_client, pages, early[0]))
        for watched in early:
            await watched.log.says(HEARD)
        async with asyncio.TaskGroup() as meanwhile:
            meanwhile.create_task(FAULTS[name](scene))
            for talk in talks[half:]:
                meanwhile.create_task(self._begin(talk))

    def _talk(self) -> Conversation:
        self._count += 1
        return Conversation(f"talk-{self._count}", self._count % EVERY == 0)

    async def _begin(self, talk: Conversation) -> Watched:
        run_id = await begin(self._doors, talk.chat_id, talk.prompt)
        address = self._random.choice(self._cluster.addresses)
        socket = self._clients.sockets.watch_to_the_end(address, talk.chat_id)
        where = (self._doors, talk.chat_id, run_id)
        log = LogFollower(*where)
        watched = Watched(talk, log, AiSdkFollower(*where), AgUiFollower(*where), socket)
        self._follow(watched.followers)
        if talk.asks:
            self._tasks.create_task(self._answer(log))
        self.watched.append(watched)
        return watched

    def _follow(self, followers: Iterable[Follower]) -> None:
        for follower in followers:
            self._tasks.create_task(follower.follow())

    async def _show(self, client: str, pages: Pages, watched: Watched) -> None:
        shown = await pages.read(watched.talk.chat_id, watched.log.run_id)
        self.shown.append(Shown(client, watched.log.run_id, shown))

    async def _answer(self, log: LogFollower) -> None:
        if await log.asks():
            await answer(self._doors, log.chat_id, ASKED, "red")
