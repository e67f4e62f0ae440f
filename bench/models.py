"""The model gateway, against a bare relay of the same HTTP client and server.

A provider on this core streams events to clients on this core; the relay between them has the
servers' core. The bare relay has its turn right after ours, with the same streams.
"""

from __future__ import annotations

import asyncio
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version

import uvloop

from bench.figures import Figure, Samples
from bench.hosting import Hosted, _allow_many_files, server_core, use_client_core
from bench.relays import BARE, GATEWAY, PATH

__all__ = ["FIGURES", "TITLE", "Provider", "Relay", "explain", "measure", "stream", "versions"]

TITLE = "Models: the gateway, against a bare relay"

STREAMS = (1, 20, 200)
CHUNKS = 10_000
"""In all streams of a round together."""
_CHUNK = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"a few words "}}\n\n'
)
_BODY = b'{"model": "claude-sonnet-4-5", "messages": []}'
_MORE = "Times a bare httpx2 and uvicorn relay (less is better)"

FIGURES = (
    Figure("models/first", "First byte, 1 stream", at_most=1.2, panel=_MORE),
    *(
        Figure(f"models/cpu-{n}", f"CPU per chunk, {n} streams", at_most=1.2, panel=_MORE)
        for n in STREAMS
    ),
    Figure("models/memory", "Memory per open stream, of 200", panel=_MORE),
    Figure("ms/models-first", "Gateway: first byte", unit="ms"),
    Figure("ms/models-first-bare", "Bare relay: first byte", unit="ms"),
    *(Figure(f"us/models-cpu-{n}", f"Gateway: CPU per chunk, {n} streams", "µs") for n in STREAMS),
    *(
        Figure(f"us/models-cpu-bare-{n}", f"Bare relay: CPU per chunk, {n} streams", "µs")
        for n in STREAMS
    ),
    Figure("kb/models-memory", "Gateway: memory per open stream", unit="KB"),
    Figure("kb/models-memory-bare", "Bare relay: memory per open stream", unit="KB"),
)


Calls = list[asyncio.Task[tuple[float, int]]]


class Provider:
    """Streams `chunks` events to each request."""

    def __init__(self) -> None:
        self.chunks = 1
        self.held: asyncio.Event | None = None
        """If set, responses begin, and end when it is."""
        self.url = ""

    async def open(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        piece = b"%x\r\n%s\r\n" % (len(_CHUNK), _CHUNK)
        while await self._request(reader):
            writer.write(head + b"transfer-encoding: chunked\r\n\r\n" + piece)
            if self.held is not None:
                await self.held.wait()
            for _ in range(self.chunks - 1):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)  # one chunk for each stream in turn
            writer.write(b"0\r\n\r\n")
        writer.close()

    @staticmethod
    async def _request(reader: asyncio.StreamReader) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b"transfer-encoding" in head:
                await reader.readuntil(b"0\r\n\r\n")
            else:
                await reader.readexactly(len(_BODY))
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        return True


class Relay(Hosted):
    """A relay in a process of its own."""

    def __init__(self, kind: str, upstream: str) -> None:
        _allow_many_files()
        command = [sys.executable, "-m", "bench.relays", kind, upstream, str(server_core())]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        port, self.token = self._process.stdout.readline().decode().split()
        self.port = int(port)


async def stream(relay: Relay, began: asyncio.Barrier | None = None) -> tuple[float, int]:
    """A whole call: seconds to its first chunk, and the bytes of its events."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    head = f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {relay.token}\r\n"
    began_at = time.perf_counter()
    writer.write(f"{head}content-length: {len(_BODY)}\r\n\r\n".encode() + _BODY)
    status = await reader.readuntil(b"\r\n\r\n")
    if not status.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"refused: {status!r}")
    first, size = 0.0, 0
    while length := int(await reader.readline(), 16):
        await reader.readexactly(length + 2)
        size += length
        if not first:
            first = time.perf_counter() - began_at
            if began is not None:
                await began.wait()
    writer.close()
    return first, size


async def _first(relay: Relay, provider: Provider) -> float:
    """The median time to the first byte, one after the other."""
    provider.chunks = 1
    return statistics.median([(await stream(relay))[0] for _ in range(40)])


async def _cpu(relay: Relay, provider: Provider, streams: int) -> float:
    """The relay's CPU time per chunk, from when all streams are open until all have ended."""
    provider.chunks = CHUNKS // streams
    calls = await _open(relay, provider, streams)
    before = relay.cpu()
    found = await _finish(provider, calls)
    if {size for _, size in found} != {len(_CHUNK) * provider.chunks}:
        raise RuntimeError("not all chunks arrived")
    return (relay.cpu() - before) / (streams * provider.chunks)


async def _open(relay: Relay, provider: Provider, streams: int) -> Calls:
    """Streams that have begun and continue when told."""
    provider.held = asyncio.Event()
    all_open = asyncio.Barrier(streams + 1)
    calls = [asyncio.create_task(stream(relay, all_open)) for _ in range(streams)]
    await all_open.wait()
    return calls


async def _finish(provider: Provider, calls: Calls) -> list[tuple[float, int]]:
    assert provider.held is not None
    provider.held.set()
    provider.held = None
    return await asyncio.gather(*calls)


async def _memory(relay: Relay, provider: Provider) -> float:
    """Bytes by which the relay grows for each stream that is open and silent."""
    await _first(relay, provider)  # what the first streams need is the relay's, not theirs
    before = relay.memory()
    calls = await _open(relay, provider, STREAMS[-1])
    grown = relay.memory() - before
    await _finish(provider, calls)
    return grown / len(calls)


def measure(rounds: int) -> Samples:
    """One whole run."""
    use_client_core()
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_measure(rounds))


async def _measure(rounds: int) -> Samples:
    provider = Provider()
    await provider.open()
    samples: Samples = {figure.key: [] for figure in FIGURES}
    with ExitStack() as opened:
        ours, bare = (opened.enter_context(Relay(kind, provider.url)) for kind in (GATEWAY, BARE))
        memory = [await _memory(relay, provider) for relay in (ours, bare)]  # before all else
        for _ in range(rounds):
            for key, value in (await _round(ours, bare, provider)).items():
                samples[key].append(value)
            samples["models/memory"].append(memory[0] / memory[1])
            samples["kb/models-memory"].append(memory[0] / 1024)
            samples["kb/models-memory-bare"].append(memory[1] / 1024)
    return samples


async def _round(ours: Relay, bare: Relay, provider: Provider) -> dict[str, float]:
    mine, theirs = await _first(ours, provider), await _first(bare, provider)
    found = {
        "models/first": mine / theirs,
        "ms/models-first": mine * 1e3,
        "ms/models-first-bare": theirs * 1e3,
    }
    for streams in STREAMS:
        mine, theirs = await _cpu(ours, provider, streams), await _cpu(bare, provider, streams)
        found[f"models/cpu-{streams}"] = mine / theirs
        found[f"us/models-cpu-{streams}"] = mine * 1e6
        found[f"us/models-cpu-bare-{streams}"] = theirs * 1e6
    return found


def versions() -> Mapping[str, str]:
    """What was compared."""
    packages = ("httpx2", "uvicorn", "uvloop")
    return {"Python": platform.python_version(), **{name: version(name) for name in packages}}


def explain(missed: Sequence[str]) -> str:
    """Where the gateway's own time goes."""
    return (
        "Beside what the bare relay does, the gateway checks the request, writes two lines of "
        "usage, watches for a client that leaves, and reads every chunk for the tokens it reports."
    )
