"""Reads of whole chats: few at once, and a message of any size is read shortened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from mobox.errors import TooManyReads
from mobox.events import Done, Start, Text, TextDelta, TextEnd
from mobox.server.heavy_reads import AT_ONCE, LARGE, MOST, HeavyReads
from server.app_client import app_client, begin
from server.stored_runs import append
from server.test_inspect import rows

SECONDS = 60


async def test_an_owner_has_few_reads_at_once_and_others_do_not_wait() -> None:
    reads, gate, bob_reads = HeavyReads(), asyncio.Event(), asyncio.Event()
    reading: list[str] = []

    async def read(owner: str) -> str:
        async def work() -> str:
            reading.append(owner)
            if owner == "bob":
                bob_reads.set()
            await gate.wait()
            return owner

        return bytes((await reads.response(owner, work, str)).body).decode()

    async with asyncio.timeout(SECONDS):
        anns = [asyncio.create_task(read("ann")) for _ in range(MOST)]
        bobs = asyncio.create_task(read("bob"))
        await bob_reads.wait()
        assert reading.count("ann") == AT_ONCE
        with pytest.raises(TooManyReads):
            await read("ann")
        gate.set()
        assert await asyncio.gather(*anns) == ['"ann"'] * MOST
        assert await bobs == '"bob"'
        assert await read("ann") == '"ann"'


async def test_a_large_response_counts_until_it_is_sent() -> None:
    reads = HeavyReads()

    async def work() -> str:
        return "x" * LARGE

    async def receive() -> Message:
        raise AssertionError

    sent: list[Any] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async with asyncio.timeout(SECONDS):
        large = [await reads.response("ann", work, str) for _ in range(AT_ONCE)]
        third = asyncio.create_task(reads.response("ann", work, str))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not third.done()
        await large[0]({"type": "http"}, receive, send)
        await third
    assert sum(len(message.get("body", b"")) for message in sent) == LARGE + 2


async def test_a_long_answer_is_read_shortened_and_whole_from_its_log(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await begin(services, "long", "Say much")
        words = "0123456789abcdef" * (1 << 12)  # 64 KiB
        deltas = [TextDelta(id="t", delta=words) for _ in range(100)]
        long = Text(id="u", content="long " * 100_000)
        events = [Start(framework="demo"), Text(id="t"), *deltas, TextEnd(id="t"), long]
        await append(services, run, [*events, TextEnd(id="u"), Done(reason="stop")])
        chat = (await client.get(f"/api/chats/{run.chat_id}")).json()
        content = chat["messages"][-1]["content"]
        assert 4_000_000 < len(content) < 4_001_000
        assert f"GET /api/runs/{run.id}/events]" in content
        path = f"/api/runs/{run.id}/events"
        whole = await client.get(path, params={"live": "off", "format": "canonical"})
        assert whole.text.count("0123456789abcdef") == 100 << 12
        found = await rows(client, run, format="canonical")
        shown = next(row for row in found if "shortened" in row["event"])
        assert shown["event"]["type"] == "text" and shown["event"]["shortened"] > 500_000
        assert sum(len(str(row)) for row in found) < 16_000_000


async def test_the_inspector_leaves_out_the_frames_of_a_log_that_is_too_long(
    tmp_path: Path,
) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await begin(services, "long", "Say much")
        deltas = [TextDelta(id="t", delta="0123456789abcdef" * (1 << 12)) for _ in range(140)]
        events = [Start(framework="demo"), Text(id="t"), *deltas, TextEnd(id="t")]
        await append(services, run, [*events, Done(reason="stop")])
        found = await rows(client, run)
        assert [row["seq"] for row in found] == list(range(1, 145)), "all events are shown"
        notes = [row for row in found if "left out from here on" in str(row["frames"])]
        assert len(notes) == 1
        at = notes[0]["seq"]
        assert set(notes[0]["frames"]) == set(found[1]["frames"])
        assert all(row["frames"] for row in found[2:at])
        assert not any(row["frames"] for row in found[at:])
