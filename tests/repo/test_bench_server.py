"""bench/server.py: what it times is what it says it times. No timing is asserted here."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench import workload
from bench.filling import fill
from bench.hosting import Hosted
from bench.live import ask, read_along
from bench.memory import begin_silent_run, growth, idle, stalled
from bench.readers import Readers, body_of, get, post
from bench.replay import read_again
from bench.streams import alternate, bodies, path_of
from bench.ticking import SPACING, TICKING, TickingExecution, stamps
from bench.transform import convert, text_of
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.storage.log import Run

LINES = workload.lines()[:300]
TOLD = text_of(b"".join(wire for _, wire in convert(LINES)))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def runs(data: Path) -> list[Run]:
    return fill(data, 3, LINES, 1)


@pytest.fixture(scope="module")
def server(data: Path, runs: list[Run]) -> Iterator[Hosted]:
    with Hosted("mobox", data) as server:
        yield server


def test_every_client_receives_the_whole_run(server: Hosted, runs: list[Run]) -> None:
    told = bodies(server, [path_of(run) for run in runs])
    assert [text_of(body) for body in told] == [TOLD] * len(runs)


async def test_a_replay_in_this_process_is_what_the_server_sends(
    server: Hosted, data: Path, runs: list[Run]
) -> None:
    storage = await open_storage(Settings(data=data).database)
    try:
        replayed = b"".join(await read_again(storage, runs[0]))
    finally:
        await storage.close()
    assert [replayed] == bodies(server, [path_of(runs[0])])


def test_two_servers_are_measured_in_turn(server: Hosted, runs: list[Run]) -> None:
    paths = [path_of(run) for run in runs]
    found = alternate((server, paths), (server, paths), rounds=2)
    assert len(found) == 2
    assert all(spent.cpu > 0 and spent.wall > 0 for pair in found for spent in pair)
    assert found[0][0] / found[0][0] == type(found[0][0])(1.0, 1.0)


def test_an_answer_that_is_no_stream_is_an_error(server: Hosted) -> None:
    with pytest.raises(RuntimeError, match="the server answered"):
        bodies(server, ["/api/chat/none/stream?run=none"])


def test_a_body_is_put_together_from_its_chunks() -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    assert body_of(head + b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n") == b"abc0123456789"


def test_requests_state_their_length() -> None:
    head, _, body = post("/x", {"a": "é"}).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body) == {"a": "é"}
    assert get("/x").startswith(b"GET /x HTTP/1.1\r\n")


def test_live_runs_reach_their_clients(server: Hosted) -> None:
    live = read_along(server, runs=3, seconds=1, settle=0)
    assert live.events > 0
    assert 0 < live.p50 <= live.p99


async def test_line_has_the_time_when_it_was_due() -> None:
    async with TickingExecution(SPACING) as execution:
        first, *_, last = stamps(await execution.read() + await execution.read())
    assert last - first >= SPACING * 0.99


async def test_stopped_agent_emits_nothing_more() -> None:
    async with TickingExecution(SPACING) as execution:
        ended = await execution.stop()
        assert (await execution.read(), ended.exit_code) == (b"", 0)


def test_connections_are_counted_once_they_are_open(server: Hosted, data: Path) -> None:
    path = begin_silent_run(server)
    with Readers(server.port) as readers:
        told = bytearray()
        readers.ask(get(path))
        while b"\n\n" not in told:
            readers.turn(None, lambda _number, data: told.extend(data))
    assert b"x-mobox-run" in told
    assert isinstance(idle(server, path, 2), float)
    with Hosted("bare", data) as bare:
        assert isinstance(idle(bare, "/", 2), float)


def test_stalled_client_is_measured(server: Hosted, runs: list[Run]) -> None:
    assert isinstance(stalled(server, [path_of(runs[0])], 0), float)


def test_server_that_cannot_start_prints_why(data: Path) -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        Hosted("none", data)


def test_run_is_started_by_a_message(server: Hosted) -> None:
    told = bytearray()
    with Readers(server.port) as readers:
        readers.ask(ask(TICKING, 1000))
        while not stamps(bytes(told)):
            readers.turn(None, lambda _number, data: told.extend(data))
    assert told.startswith(b"HTTP/1.1 200 ")


def test_memory_of_runs_is_measured_after_their_end(server: Hosted) -> None:
    growth(server, 21, 21)
    listed = httpx.get(f"http://127.0.0.1:{server.port}/api/chats?limit=100", trust_env=False)
    chats = {chat["id"]: chat for chat in listed.json()["chats"]}
    assert {f"brief-{number}" for number in range(42)} <= chats.keys()
    assert chats["brief-41"]["status"] is None
