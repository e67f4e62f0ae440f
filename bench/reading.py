"""A run of 256 MiB: its chat is read by five clients at once, then inspected, then continued.

A real server with SQLite. `/healthz` is asked all the time; memory is that above the idle server.
Its answer is not folded when the server starts, as after a crash: the first reads fold it.
"""

from __future__ import annotations

import asyncio
import platform
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from bench.figures import Figure, Samples
from mobox.events import Done, Start, Text, TextDelta, TextEnd
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.settings import OWNER
from mobox.storage import SqliteStorage
from server.live_server import LiveServer, live_server, message

__all__ = ["FIGURES", "TITLE", "explain", "measure", "versions"]

TITLE = "Reading: a run of 256 MiB"
BYTES = 256 << 20
DELTA = 16 << 10
AT_ONCE = 5
LIMIT = 600.0

KINDS = {
    "first": "five read its chat, first",
    "again": "five read its chat, again",
    "inspect": "five inspect it in all formats",
    "turn": "the next message",
}
FIGURES = tuple(
    figure
    for kind, words in KINDS.items()
    for figure in (
        Figure(f"ms/{kind}-healthz", f"{words}: worst /healthz", unit="ms", at_most=1000),
        Figure(f"mb/{kind}", f"{words}: memory above idle", unit="MB", at_most=300),
        Figure(f"s/{kind}", f"{words}: until the last has its response (s)", unit=""),
    )
)


def measure(rounds: int) -> Samples:
    """One whole run, of one round."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        run_id = asyncio.run(_fill(data / "mobox.db"))
        _leave_behind(data / "mobox.db")
        found: Samples = {}
        for kinds in (("first", "again", "turn"), ("inspect",)):
            with live_server(data, patience=LIMIT) as server:
                asyncio.run(_measure(server, run_id, kinds, found))
        return found


async def _measure(server: LiveServer, run_id: str, kinds: Sequence[str], found: Samples) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=LIMIT) as client:
        await client.get("/healthz")
        idle = _memory(server.process.pid, "VmRSS")

        async def read(_: int) -> None:
            (await client.get("/api/chats/large")).raise_for_status()

        async def inspect(_: int) -> None:
            path = f"/api/runs/{run_id}/inspect"
            async with client.stream("GET", path, params={"live": "off"}) as response:
                async for _chunk in response.aiter_bytes():
                    pass

        async def turn(number: int) -> None:
            if number == 0:
                body = message("large", "3")
                (await client.post("/api/chat", json=body)).raise_for_status()

        work: dict[str, Callable[[int], Awaitable[None]]]
        work = {"first": read, "again": read, "inspect": inspect, "turn": turn}
        for kind in kinds:
            started_at = time.perf_counter()
            async with _asking(server.url) as latencies:
                await asyncio.gather(*map(work[kind], range(AT_ONCE)))
            found[f"s/{kind}"] = [time.perf_counter() - started_at]
            found[f"ms/{kind}-healthz"] = [max(latencies) * 1000]
            found[f"mb/{kind}"] = [_memory(server.process.pid, "VmHWM") - idle]


@asynccontextmanager
async def _asking(url: str) -> AsyncIterator[list[float]]:
    """Ask for /healthz every 20 ms; the latencies are complete when the block has ended."""
    latencies: list[float] = []

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=LIMIT) as client:
            while True:
                started_at = time.perf_counter()
                await client.get("/healthz")
                latencies.append(time.perf_counter() - started_at)
                await asyncio.sleep(0.02)

    asking = asyncio.create_task(ask())
    try:
        yield latencies
    finally:
        asking.cancel()
        await asyncio.wait([asking])


def _memory(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields[name].split()[0]) / 1024


async def _fill(path: Path) -> str:
    store = await SqliteStorage.open(path)
    prompt = UserMessage(id="u1", parts=(PromptText(text="Say very much"),))
    request = Request(chat_id="large", action=Action.SUBMIT, message=prompt)
    run = (await store.begin_turn(OWNER, request, "counter", "emitted")).run
    await store.append(run.id, run.epoch, [Start(framework="emitted"), Text(id="t")], 0)
    words = ("many words and so on " * (DELTA // 20))[:DELTA]
    deltas = [TextDelta(id="t", delta=words)] * 16
    for _ in range(BYTES // DELTA // 16):
        await store.append(run.id, run.epoch, deltas, 0)
    await store.append(run.id, run.epoch, [TextEnd(id="t"), Done(reason="stop")], 0)
    await store.close()
    return run.id


def _leave_behind(path: Path) -> None:
    with sqlite3.connect(path) as database:
        forget = "UPDATE message SET folded_seq = 0, content = '', body = NULL WHERE run > 0"
        database.execute(forget)
        database.execute("UPDATE run SET folded = 0")
    database.close()


def versions() -> Mapping[str, str]:
    """What was measured."""
    return {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version}


def explain(missed: Sequence[str]) -> str:
    """Nothing: each figure is one request."""
    return ""
