"""What was shown is kept, and every run ends, when the server is killed with -9 in the middle."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from mobox.events import Done, LogEntry, TextDelta
from mobox.formatters import format_all, get_formatter
from server.live_server import (
    LIMIT,
    Kept,
    Reader,
    agent_processes,
    http_client,
    live_server,
    stored,
)
from support.grammar_log import legal_log
from support.waiting import until

RUNS = 20
SWEEP = 5
"""Seconds after the end of its lease in which the end of a lost run is promised."""
MANNERS = ("count", "tool", "subagent", "grandchild")


async def read_until_killed(
    data: Path, lease: str, deltas: int
) -> tuple[list[Reader], Reader, float]:
    """Twenty runs and one that waits, all read by somebody, when the server is killed."""
    manners = islice(cycle(MANNERS), RUNS)
    readers = [Reader(f"{manner}-{n}") for n, manner in enumerate(manners)]
    asks = Reader("asks")
    with live_server(data, "--lease", lease) as server:
        async with http_client(server) as client, asyncio.TaskGroup() as clients:
            await asks.say(client, "question")
            assert asks.has_ended, "a response ends where the run waits"
            for reader in readers:
                clients.create_task(reader.say(client, reader.chat_id.replace("-", " ")))
            for reader in readers:
                await reader.has_seen(deltas)
            assert len(agent_processes(data)) > 2 * RUNS  # keepers, agents, grandchildren
            killed_at = server.kill()
    assert all(reader.is_cut_off for reader in readers), "they were in the middle"
    return readers, asks, killed_at


def text_of(entries: list[LogEntry]) -> str:
    return "".join(
        e.event.delta for e in entries if isinstance(e.event, TextDelta) and not e.event.scope
    )


def check_that_what_was_shown_is_kept(reader: Reader, kept: Kept) -> None:
    formatter = get_formatter("ai-sdk", kept.run.id)
    frames = [document.decode() for document in format_all(formatter, kept.entries)]
    assert [entry.seq for entry in kept.entries] == list(range(1, kept.run.tail_seq + 1))
    assert reader.frames == frames[: len(reader.frames)]


async def the_end(client: httpx.AsyncClient, reader: Reader) -> dict[str, Any]:
    """The chat, once nothing goes on in it."""
    deadline = time.monotonic() + LIMIT
    while True:
        chat: dict[str, Any] = (await client.get(f"/api/chats/{reader.chat_id}")).json()
        if chat["activeRun"] is None:
            return chat
        assert time.monotonic() < deadline, f"{reader.chat_id} has not ended"
        await asyncio.sleep(0.1)


def check_history(chat: dict[str, Any], reader: Reader, kept: Kept) -> None:
    asked, told = chat["messages"]
    assert (asked["role"], told["role"], told["id"]) == ("user", "assistant", reader.run_id)
    text = "".join(part["text"] for part in told["parts"] if part["type"] == "text")
    assert text == text_of(kept.entries)
    assert text.startswith(reader.text)
    tools = {part["toolCallId"]: part for part in told["parts"] if "toolCallId" in part}
    assert {chunk["toolCallId"] for chunk in reader.chunks if "toolCallId" in chunk} == set(tools)
    assert {part["state"] for part in tools.values()} <= {"output-available", "output-error"}


def check_the_end(before: Kept, after: Kept, until: float) -> None:
    assert (after.run.status, after.run.reason) == ("done", "lost")
    assert after.entries[: len(before.entries)] == before.entries, "a log only grows"
    legal_log([entry.event for entry in after.entries])
    last = after.entries[-1]
    assert [entry for entry in after.entries if isinstance(entry.event, Done)] == [last]
    assert last.ts is not None
    assert last.ts / 1000 <= until


async def check_that_it_goes_on(client: httpx.AsyncClient, chat_id: str) -> None:
    again = Reader(chat_id)
    await again.say(client, "hello")
    assert again.has_ended
    assert again.text == "Hello again."


async def check_that_it_still_waits(client: httpx.AsyncClient, asks: Reader) -> None:
    chat = (await client.get(f"/api/chats/{asks.chat_id}")).json()
    assert chat["activeRun"] == {"id": asks.run_id, "status": "waiting", "agent": "counter"}
    answer = {"requestId": "ask_1", "value": 7}
    told = await client.post(f"/api/chat/{asks.chat_id}/answer", json=answer)
    assert told.status_code == 202, told.text
    whole = Reader(asks.chat_id)
    await whole.replay(client, asks.run_id)
    assert whole.frames[: len(asks.frames) - 2] == asks.frames[:-2], "up to where it waited"
    assert whole.text == "7 it is."


async def crash(data: Path, lease: str, deltas: int) -> None:
    readers, asks, killed_at = await read_until_killed(data, lease, deltas)
    await until(lambda: not agent_processes(data))  # before anyone could clean up
    before = await stored(data)
    for reader in readers:
        check_that_what_was_shown_is_kept(reader, before[reader.run_id])
    with live_server(data, "--lease", lease) as server:
        began_at = time.time()
        async with http_client(server) as client:
            chats = [await the_end(client, reader) for reader in readers]
            await asyncio.gather(*(check_that_it_goes_on(client, r.chat_id) for r in readers))
            await check_that_it_still_waits(client, asks)
    after = await stored(data)
    promised = max(killed_at + float(lease), began_at) + SWEEP
    for reader, chat in zip(readers, chats, strict=True):
        check_the_end(before[reader.run_id], after[reader.run_id], promised)
        check_history(chat, reader, after[reader.run_id])
    assert {kept.run.status for kept in after.values()} == {"done"}


# The first lease lasts until the next server is there, which has to look again; the others have run
# out by then, and are of other moments.
@pytest.mark.parametrize(("lease", "deltas"), [("6", 20), ("1", 1), ("1", 100)])
async def test_a_server_killed_in_the_middle_loses_nothing_that_was_shown(
    tmp_path: Path, lease: str, deltas: int
) -> None:
    data = tmp_path / "data"
    await crash(data, lease, deltas)
    with sqlite3.connect(data / "mobox.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
