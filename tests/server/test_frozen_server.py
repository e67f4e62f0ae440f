"""A server that hangs: the keepers of its agents freeze them without it."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from pathlib import Path

import httpx
import pytest

from server.live_server import (
    LIMIT,
    LiveServer,
    agent_processes,
    http_client,
    live_server,
    loading_first,
    message,
    stored,
)
from supervisor.stage import write_agent
from support.acting_agents import ACTING, YAML, Acts, is_frozen
from support.postgres_server import Databases
from support.waiting import until, until_async

LEASE = ("--lease", "2")
LOOKS_OFTEN = """
from msgspec.structs import replace

import mobox.cli.serve as command

read = command.read_settings
command.read_settings = lambda *given: replace(read(*given), look=0.1, sweep=0.1)
"""


async def send(client: httpx.AsyncClient, text: str) -> str:
    """Send a message to the chat as soon as it has no active run; the id of the new one."""
    found: list[str] = []

    async def is_begun() -> bool:
        async with client.stream("POST", "/api/chat", json=message("chat", text)) as response:
            found.append(response.headers.get("x-mobox-run", ""))
            return response.status_code == httpx.codes.OK

    await until_async(is_begun, pause=0.05)
    return found[-1]


def folders(tmp_path: Path) -> tuple[Path, tuple[str | Path, ...]]:
    write_agent(tmp_path / "agents" / "acting", ACTING, YAML)
    return tmp_path, (*LEASE, "--agents", tmp_path / "agents")


async def test_agents_of_a_server_that_hangs_do_not_act_beside_others(
    tmp_path: Path, postgres: Databases
) -> None:
    folder, given = folders(tmp_path)
    acts, url = Acts(folder), await postgres.blank()
    often = loading_first(folder, LOOKS_OFTEN)
    opened = partial(live_server, ACTS=str(acts.file), PYTHONPATH=often)
    given = (*given, "--database-url", url)
    here, there = folder / "here", folder / "there"
    with opened(here, *given) as one, opened(there, *given) as other:
        async with asyncio.timeout(LIMIT), http_client(one) as first, http_client(other) as second:
            lost = await send(first, "begin")
            await acts.after(here, 0)
            one.signal(signal.SIGSTOP)
            again = await send(second, "again")
            await acts.after(there, 0)
            assert max(acts.by(here)) < min(acts.by(there))
            assert is_frozen(here)
            one.signal(signal.SIGCONT)
            await until(lambda: agent_processes(here) == [])
            assert max(acts.by(here)) < min(acts.by(there)), "it was killed as it was"
            acts.enough()
            await until(lambda: agent_processes(there) == [])
    runs = {name: kept.run.reason for name, kept in (await stored(there, url)).items()}
    assert runs == {lost: "lost", again: "stop"}


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_agents_go_on_with_their_server(
    tmp_path: Path, postgres: Databases, database: str
) -> None:
    folder, given = folders(tmp_path)
    acts, data = Acts(folder), folder / "data"
    url = await postgres.blank() if database == "postgres" else f"sqlite:///{folder}/mobox.db"
    with live_server(data, *given, "--database-url", url, ACTS=str(acts.file)) as server:
        async with asyncio.timeout(LIMIT), http_client(server) as client:
            begun = await send(client, "begin")
            await acts.after(data, 0)
            await _sleep_and_wake(server, acts, data)
            acts.enough()
            await until(lambda: agent_processes(data) == [])
    assert (await stored(data, url))[begun].run.reason == "stop"


async def _sleep_and_wake(server: LiveServer, acts: Acts, data: Path) -> None:
    server.signal(signal.SIGSTOP)
    await until(lambda: is_frozen(data))
    before = acts.by(data)
    server.signal(signal.SIGCONT)
    assert min(await acts.after(data, len(before))) > max(before)
