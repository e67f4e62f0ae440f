"""What is read is exact, whatever stands between a reader and the server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.fault_proxies import Blackhole, BufferingProxy, ImpatientProxy, SlowProxy
from server.live_server import LIMIT, LiveServer, live_server, loading_first, message
from server.scripted_agent import Gate, a_day_of_work, prompt, text
from server.server_probe import ServerProbe
from server.socket_clients import Served, SocketClients
from server.stored_runs import Told, told_in
from support.waiting import wait_until

FLOOD = ["flood", 256, 64 * 1024]
"""More than the system keeps for two connections."""
GONE_SOON = """
import mobox.server.ops.run_server as serving

serving.GONE = 1
"""
"""What a server loads before all else: it is to give up on a reader sooner than is usual."""


def begin(http: httpx.Client, server: LiveServer, chat_id: str, words: str) -> str:
    """The id of a run that nobody reads."""
    said = message(chat_id, words)
    said["messages"][0]["id"] = "m1"
    with http.stream("POST", f"{server.url}/api/chat", json=said) as response:
        return str(response.headers["x-mobox-run"])


def events_of(run_id: str) -> str:
    return f"/api/runs/{run_id}/events"


def whole(http: httpx.Client, server: Served, run_id: str) -> list[Told]:
    """The run, to its end."""
    return told_in(http.get(server.url + events_of(run_id)).raise_for_status().text)


class EventSource:
    """Reads a run to its end, and comes back with its place whenever it is cut off."""

    def __init__(self, server: Served, run_id: str) -> None:
        self.server = server
        self._path = events_of(run_id)
        self.told: list[Told] = []
        self.cuts = 0

    def read(self) -> list[Told]:
        with httpx.Client(
            timeout=10 * LIMIT, trust_env=False
        ) as http:  # it is more patient than all
            while not self._read_once(http):
                self.cuts += 1
        return self.told

    def _read_once(self, http: httpx.Client) -> bool:
        """Whether it came to the end."""
        last = {"last-event-id": self.told[-1].id or ""} if self.told else {}
        held = ""
        try:
            with http.stream("GET", self.server.url + self._path, headers=last) as response:
                for part in response.iter_text():
                    frames, mark, held = (held + part).rpartition("\n\n")
                    self.told += told_in(frames + mark)
        except httpx.TransportError:
            return False
        return True


# A proxy that keeps a response back until it is over


def test_a_stream_that_is_kept_back_comes_whole_when_the_run_is_over(
    server: LiveServer, http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    run_id = begin(http, server, chat_id, prompt(text("One"), gate.step, *a_day_of_work(1)))
    with BufferingProxy(server) as proxy:
        source = EventSource(proxy, run_id)
        reading = threading.Thread(target=source.read)
        reading.start()
        wait_until(lambda: b"One" in proxy.held)
        assert source.told == []
        gate.open()
        reading.join(LIMIT)
    assert (source.told, source.cuts) == (whole(http, server, run_id), 0)


def test_polling_client_continues_behind_a_buffering_proxy(
    server: LiveServer, http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    run_id = begin(http, server, chat_id, prompt(text("One"), gate.step, *a_day_of_work(1)))
    gate.wait()
    told: list[Told] = []
    status = ""
    with BufferingProxy(server) as proxy:
        while status != "done":
            after = {"after": told[-1].id or ""} if told else {}
            asked = {"live": "off", **after}
            response = http.get(proxy.url + events_of(run_id), params=asked).raise_for_status()
            if response.status_code == 204:
                status = response.headers["x-mobox-status"]
            told += told_in(response.text)
            if gate.is_occupied and any("One" in each.data for each in told):
                gate.open()
    assert told == whole(http, server, run_id)


@pytest.mark.parametrize("transports", [["polling"], ["polling", "websocket"]], ids="-".join)
def test_polling_sockets_receive_events_live_behind_a_buffering_proxy(
    server: LiveServer,
    sockets: SocketClients,
    server_probe: ServerProbe,
    chat_id: str,
    gate: Gate,
    transports: list[str],
) -> None:
    with BufferingProxy(server) as proxy:
        socket = sockets.open(proxy, transports=transports)
        socket.join(chat_id)
        run_id = socket.say(chat_id, prompt(text("One"), gate.step, *a_day_of_work(1)))["runId"]
        while "One" not in str(socket.all()):
            socket.read("agent:event", len(socket.read("agent:event")) + 1)
        gate.open()
        assert socket.events() == server_probe.events(run_id)
        socket.close()


# A proxy that cuts connections on which nothing is said


def test_client_disconnected_in_every_silence_reads_everything_once(
    server: LiveServer, http: httpx.Client, chat_id: str, gate: Gate
) -> None:
    day = a_day_of_work(1)
    run_id = begin(http, server, chat_id, prompt(*day[:20], gate.step, *day[20:], gate.step))
    with ImpatientProxy(server, 0.3) as proxy:
        source = EventSource(proxy, run_id)
        reading = threading.Thread(target=source.read)
        reading.start()
        for _ in range(2):
            gate.wait()
            proxy.cuts = 0
            wait_until(lambda: proxy.cuts > 1)
            gate.open()
        reading.join(LIMIT)
    assert source.cuts > 3
    assert source.told == whole(http, server, run_id)


# A reader that is gone without a word


@pytest.fixture(scope="module")
def hasty(agents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("hasty")
    hasty = loading_first(folder, GONE_SOON)
    with live_server(folder / "data", "--agents", agents, PYTHONPATH=hasty) as server:
        yield server


def test_a_reader_that_takes_nothing_more_is_given_up_and_may_come_back(
    hasty: LiveServer, http: httpx.Client, chat_id: str
) -> None:
    run_id = begin(http, hasty, chat_id, prompt(text("One"), FLOOD, text("two")))
    everything = whole(http, hasty, run_id)
    server_probe = ServerProbe(http, hasty)
    with Blackhole(hasty, after=1_000_000) as proxy:
        source = EventSource(proxy, run_id)
        reading = threading.Thread(target=source.read)
        reading.start()
        proxy.is_silent.wait(LIMIT)
        wait_until(lambda: server_probe.metric("mobox_streams") == 0)
        assert 0 < len(source.told) < len(everything)
        source.server = hasty
    reading.join(LIMIT)
    assert source.told == everything


# A slow reader


def test_slow_reader_blocks_no_other_and_reads_everything(
    server: LiveServer, http: httpx.Client, chat_id: str
) -> None:
    run_id = begin(http, server, chat_id, prompt(text("One"), FLOOD, text("two")))
    with SlowProxy(server, first=1_000_000) as proxy:
        source = EventSource(proxy, run_id)
        reading = threading.Thread(target=source.read)
        reading.start()
        proxy.waits.wait(LIMIT)
        everything = whole(http, server, run_id)
        assert len(source.told) < len(everything)
        proxy.may_go_on.set()
        reading.join(LIMIT)
    assert (source.told, source.cuts) == (everything, 0)
