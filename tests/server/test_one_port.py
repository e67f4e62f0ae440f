"""Several processes at one port: they serve as one, and end as one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.live_server import (
    LIMIT,
    MOBOX,
    LiveServer,
    Reader,
    agent_processes,
    clean_environment,
    http_client,
    live_server,
    message,
    mobox,
    stored,
)
from server.many_processes import LEASE, check_the_end, looking_often, read_elsewhere, stop
from server.scripted_agent import a_day_of_work, prompt
from server.socket_clients import SocketClients
from support.waiting import until, wait_until

# A busy machine must not make the other process late: its runs would be lost too.
PATIENT = ("--workers", "2", "--lease", "3")


def children(process: int) -> list[int]:
    return [
        int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def is_gone(process: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return True


async def test_several_processes_serve_at_one_port_and_end_as_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    readers = [Reader(f"count-{n}") for n in range(6)]
    with live_server(data, "--workers", "2", *LEASE) as server:
        assert server.first_line == f"Mobox is at {server.url} (Ctrl+C to stop)\n"
        assert len(children(server.process.pid)) == 2
        async with http_client(server) as client, asyncio.TaskGroup() as tasks:
            for reader in readers:
                tasks.create_task(reader.say(client, "count"))
            for reader in readers:
                await reader.has_seen(1)
            server.signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.wait) == 0
        assert "WARNING" not in server.warnings
    assert all(reader.has_ended for reader in readers)
    assert agent_processes(data) == []
    kept = await stored(data)
    for reader in readers:
        check_the_end(kept[reader.run_id], "interrupted")


async def test_one_that_dies_is_replaced_and_its_runs_are_ended(tmp_path: Path) -> None:
    data, often = tmp_path / "data", looking_often(tmp_path)
    readers = [Reader(f"count-{n}") for n in range(4)]
    with live_server(data, *PATIENT, PYTHONPATH=often) as server:
        async with http_client(server) as client, asyncio.TaskGroup() as tasks:
            for reader in readers:
                tasks.create_task(reader.say(client, "count"))
            for reader in readers:
                await reader.has_seen(1)
            processes = children(server.process.pid)
            victim = max(processes, key=lambda process: len(children(process)))
            runs_of_its_own = len(children(victim))  # a keeper each
            os.kill(victim, signal.SIGKILL)
            await until(lambda: len({*children(server.process.pid)} - {victim}) == 2)
            assert len({*processes} & {*children(server.process.pid)}) == 1
            for reader in readers:  # by whoever takes the request
                await stop(client, reader.chat_id)
            async with asyncio.timeout(LIMIT):
                again = [await read_elsewhere(server, reader) for reader in readers]
            assert all(reader.has_ended for reader in again)
        server.signal(signal.SIGINT)
        assert server.wait() == 0
        assert f"(pid {victim}) ended with SIGKILL" in server.warnings
    kept = await stored(data)
    for reader in readers:
        check_the_end(kept[reader.run_id], "lost" if reader.is_cut_off else "cancelled")
    assert sum(reader.is_cut_off for reader in readers) == runs_of_its_own > 0


async def test_none_outlives_its_parent(tmp_path: Path) -> None:
    with live_server(tmp_path / "data", "--workers", "2") as server:
        pids = children(server.process.pid)
        assert len(pids) == 2
        server.kill()
        await until(lambda: all(map(is_gone, pids)))


TOLD_TO_END_AT_ONCE = """
import os, signal, sys
from mobox.server.ops.run_server import PreforkParent

set_wakeup_fd = signal.set_wakeup_fd

def set_and_tell(descriptor, **more):
    set_wakeup_fd(descriptor, **more)
    if descriptor == -1:  # a process that is just leaving its parent's signals behind
        os.kill(os.getpid(), signal.SIGTERM)

signal.set_wakeup_fd = set_and_tell
sys.exit(PreforkParent(1, lambda mate: print("goes on"), lambda: None).run())
"""


def test_process_stopped_before_it_started_does_not_continue() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOLD_TO_END_AT_ONCE], capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_child_that_it_did_not_make_ends_alone(tmp_path: Path) -> None:
    """As the first process of a container has them, and whoever was started by a script."""
    script = 'sleep 600 & exec "$@"'
    flags = ["--workers", "2", "--port", "0", "--data", str(tmp_path / "data")]
    errors = tmp_path / "stderr"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            ["sh", "-c", script, "sh", *MOBOX, "serve", *flags],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=clean_environment(),
        ) as process,
    ):
        try:
            server = LiveServer(process, errors)
            stranger = min(children(process.pid))
            os.kill(stranger, signal.SIGKILL)
            wait_until(lambda: stranger not in children(process.pid))
            assert httpx.get(f"{server.url}/readyz", trust_env=False).status_code == 200
            server.signal(signal.SIGTERM)
            assert server.wait() == 0
        finally:
            process.kill()


def test_common_startup_error_is_reported_once(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "mobox.db"
    flags = ["--port", "0", "--data", str(tmp_path), "--database-url", f"sqlite:///{nowhere}"]
    code, out, err = mobox("serve", "--workers", "3", *flags)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"mobox: cannot open {nowhere}: ")


# Sockets at such a port


@pytest.fixture(scope="module")
def several(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    data = tmp_path_factory.mktemp("several") / "data"
    with live_server(data, "--workers", "2", "--agents", agents, patience=30 * LIMIT) as server:
        yield server


@pytest.mark.parametrize(
    "transports", [["polling", "websocket"], ["polling"], ["websocket"]], ids="-".join
)
def test_sockets_receive_everything_whichever_process_serves_them(
    sockets: SocketClients, several: LiveServer, transports: list[str]
) -> None:
    session = "-".join(transports)
    clients = [sockets.open(several, transports=transports) for _ in range(20)]
    for client in clients:
        assert client.refused is None
        if transports == ["polling", "websocket"]:
            client.upgraded()
        assert client.join(session)["status"] == "idle"
    run_id = clients[0].say(session, prompt(*a_day_of_work(1)))["runId"]
    told = [client.events() for client in clients]
    assert {event["runId"] for event in told[0] if "runId" in event} <= {run_id}
    assert [event["eventIndex"] for event in told[0]] == list(range(len(told[0])))
    assert all(events == told[0] for events in told)
    for client in clients:
        client.close()


def test_page_can_send_a_message_to_any_process(several: LiveServer) -> None:
    for n in range(6):
        words = prompt(["emit", "text", {"content": "hello"}])
        told = httpx.post(
            f"{several.url}/api/chat", json=message(f"any-{n}", words), trust_env=False
        )
        assert '"hello"' in told.text
