"""Copies bytes between two connections.

Rule 1: nothing is read that the other side has not taken, so memory stays bounded.
Rule 2: a side that has sent its end may still receive: ends are passed on one by one.
Rule 3: a connection is given up when no byte has moved for `idle` seconds, in either direction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from mobox.egress.messages import BadMessage, Body, chunk_length

BUFFER: Final = 64 << 10
"""Bytes that are kept of each direction; also the limit of a head."""
CHUNK_LINE: Final = 4 << 10
LINGER: Final = 2
"""Seconds in which a client may still send what is thrown away."""
LINGER_BYTES: Final = 1 << 20


class Stream(NamedTuple):
    """A connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Write, and wait while too much is unsent."""
        self.writer.write(data)
        await self.writer.drain()

    async def end(self) -> None:
        """Wait until all has been sent, and send the end."""
        self.writer.transport.set_write_buffer_limits(high=0)
        await self.writer.drain()
        self.writer.write_eof()

    def abort(self) -> None:
        """Close it at once: `close` would wait for a client that does not read."""
        self.writer.transport.abort()


class Idle:
    """A time limit that begins again with each `touch`; raises `TimeoutError`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> Idle:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._timeout.__aexit__(*error)

    def touch(self) -> None:
        """A byte has moved."""
        if not self._timeout.expired():
            now = asyncio.get_running_loop().time()
            self._timeout.reschedule(now + self._seconds)


async def tunnel(client: Stream, server: Stream, idle: Idle) -> None:
    """Copy both ways until both sides have sent their ends, or one breaks off."""
    await together([_copy(client, server, idle), _copy(server, client, idle)])


async def together(works: Iterable[Any]) -> None:
    """Wait for all; the first error ends the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _copy(source: Stream, sink: Stream, idle: Idle) -> None:
    while data := await source.reader.read(BUFFER):
        idle.touch()
        await sink.send(data)
    await sink.end()


async def copy_body(
    body: Body, source: Stream, sink: Stream, idle: Idle, *, is_framed: bool = True
) -> None:
    """Copy exactly one body; raises `BadMessage`, and `IncompleteReadError` if it breaks off.

    `is_framed` keeps the chunks that the body consists of, if it does.
    """
    if body == "until closed":
        while data := await source.reader.read(BUFFER):
            idle.touch()
            await sink.send(data)
    elif body == "chunked":
        await _copy_chunks(source, sink, idle, is_framed=is_framed)
    else:
        await _copy_exactly(body, source, sink, idle)


async def _copy_exactly(length: int, source: Stream, sink: Stream, idle: Idle) -> None:
    while length:
        data = await source.reader.read(min(length, BUFFER))
        if not data:
            raise asyncio.IncompleteReadError(b"", length)
        length -= len(data)
        idle.touch()
        await sink.send(data)


async def _copy_chunks(source: Stream, sink: Stream, idle: Idle, *, is_framed: bool) -> None:
    """Copy the chunks without their extensions and without trailers."""
    while length := chunk_length(await _line(source)):
        if is_framed:
            sink.writer.write(b"%x\r\n" % length)
        await _copy_exactly(length, source, sink, idle)
        if await source.reader.readexactly(2) != b"\r\n":
            raise BadMessage("a chunk of the body is longer than its length")
        if is_framed:
            sink.writer.write(b"\r\n")
    skipped = 0
    while (line := await _line(source)) != b"\r\n":
        skipped += len(line)
        if skipped > BUFFER:
            raise BadMessage("too many trailers")
    if is_framed:
        await sink.send(b"0\r\n\r\n")


async def _line(source: Stream) -> bytes:
    try:
        line = await source.reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        line = b""
    if not 0 < len(line) <= CHUNK_LINE:
        raise BadMessage("a line of the body is too long")
    return line


async def finish(client: Stream) -> None:
    """Send the end, and take what the client still sends.

    The kernel resets a connection that is closed with unread data, and the client would lose the
    response.
    """
    await client.end()
    taken = 0
    try:
        async with asyncio.timeout(LINGER):
            while (data := await client.reader.read(BUFFER)) and taken < LINGER_BYTES:
                taken += len(data)
    except TimeoutError:
        pass
