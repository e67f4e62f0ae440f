"""What tests of several processes on one database ask of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from mobox.events import Done
from server.live_server import (
    Kept,
    LiveServer,
    Reader,
    http_client,
    live_server,
    loading_first,
)
from support.grammar_log import legal_log

LEASE = ("--lease", "1")
ELSEWHERE = (*LEASE, "--execute", "workers")
LOOKING_OFTEN = """
from msgspec.structs import replace

import mobox.cli.serve as command

read = command.read_settings
command.read_settings = lambda *given: replace(read(*given), sweep=0.1, look=0.1)
"""


def looking_often(folder: Path) -> str:
    """The PYTHONPATH of processes that see sooner than usual what others want, or do no more."""
    return loading_first(folder, LOOKING_OFTEN)


class TwoServers(NamedTuple):
    """Two servers on one database, and where that is."""

    data: Path
    url: str
    one: LiveServer
    other: LiveServer


@contextmanager
def two_servers(folder: Path, url: str) -> Iterator[TwoServers]:
    """Two servers that often look what the other one wants."""
    data, often = folder / "data", looking_often(folder)
    given = (*LEASE, "--database-url", url)
    with (
        live_server(data, *given, PYTHONPATH=often) as one,
        live_server(data, *given, PYTHONPATH=often) as other,
    ):
        yield TwoServers(data, url, one, other)


async def read_elsewhere(server: LiveServer, reader: Reader) -> Reader:
    """The same run, from its first entry to its end, at another server."""
    again = Reader(reader.chat_id)
    async with http_client(server) as client:
        await again.replay(client, reader.run_id)
    return again


async def answer(client: httpx.AsyncClient, chat_id: str) -> None:
    said = {"requestId": "ask_1", "value": 7}
    told = await client.post(f"/api/chat/{chat_id}/answer", json=said)
    assert told.status_code == 202, told.text


async def stop(client: httpx.AsyncClient, chat_id: str) -> None:
    told = await client.post(f"/api/chat/{chat_id}/stop", json={})
    assert told.status_code in (200, 202), told.text


def check_the_end(kept: Kept, reason: str) -> None:
    events = [entry.event for entry in kept.entries]
    legal_log(events)
    assert [event for event in events if isinstance(event, Done)] == [events[-1]]
    assert kept.run.reason == reason
    assert [entry.seq for entry in kept.entries] == list(range(1, len(events) + 1))
