"""Server-Sent Events as an ASGI response, and the one timer that keeps all of them alive.

Rule 1: a batch is one `send`, and the next is read when that returns: backpressure reaches the log,
        and a stalled client costs one batch and the server's buffer.
Rule 2: a heartbeat is sent between batches, after silence. While a batch is being written none is
        needed, and none is queued.
Rule 3: a client that disconnects is not an error; the batches are closed at once.
Rule 4: an exception in the batches is logged, and the connection is aborted: only a complete stream
        ends properly. Inside another app returning is not enough: Starlette's `BaseHTTPMiddleware`
        ends the response properly, even after an exception. It aborts, as servers do, when it gets
        a message type that ASGI does not have.
Rule 5: a stream of a run counts as its reader while it is open; whether the client left it by
        itself is known here.
Rule 6: an idle stream has one task beside the server's own, which waits for the disconnect, and no
        timer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import MappingProxyType
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from mobox.delivery import sse
from mobox.delivery.sse import STREAM
from mobox.errors import NotFoundError
from mobox.events import Done, LogEntry
from mobox.formatters import Formatter, format_all, joining
from mobox.server.guard import WITHIN
from mobox.server.readers import Reading
from mobox.storage.log import Log, RunId, pages

_ABORT: Final = "mobox.broken_off"
_BEAT: Final = b":\n\n"
_TICKS: Final = 10
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_HEADERS: Final = {
    # The AI SDK and AG-UI ignore the type, EventSource the charset; others default to Latin-1.
    "content-type": f"{STREAM}; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
}

logger = logging.getLogger(__name__)


class Heartbeats:
    """The open streams, and the timer that they share.

    A stream is never silent for more than `interval` seconds.
    """

    def __init__(self, interval: float = 10.0) -> None:
        self._seconds = interval / _TICKS
        self._streams: set[EventStream] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    def start(self) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._turn)

    def stop(self) -> None:
        """Stop the timer. The streams stay open."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tick(self) -> None:
        """A tenth of the interval is over."""
        for stream in self._streams:
            stream.tick()

    def add(self, stream: EventStream) -> None:
        self._streams.add(stream)

    def remove(self, stream: EventStream) -> None:
        self._streams.discard(stream)

    def _turn(self) -> None:
        self.start()
        self.tick()


class _Disconnected(Exception):
    """The client has disconnected."""


class StreamAborted(Exception):
    """A response was aborted after it had started."""


class EventStream:
    """One response: batches of frames, as `delivery.sse` makes them."""

    __slots__ = ("_batches", "_beat", "_broken", "_cut", "_headers", "_heartbeats", "_over",
                 "_reading", "_send", "_silent_ticks", "_task", "_writing")  # fmt: skip

    def __init__(
        self,
        batches: AsyncIterator[bytes],
        heartbeats: Heartbeats,
        headers: Mapping[str, str] = _NONE,
        reading: AbstractContextManager[Reading] | None = None,
    ) -> None:
        self._batches = batches
        self._reading = reading
        self._heartbeats = heartbeats
        self._headers = headers
        self._writing = asyncio.Lock()
        self._silent_ticks = 0
        self._broken = self._cut = self._over = False
        self._beat: asyncio.Task[None] | None = None
        self._send: Send
        self._task: asyncio.Task[None] | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send = send
        self._task = asyncio.current_task()
        with self._reading or nullcontext(Reading()) as reading:
            await self._respond(scope, receive, reading)
        if self._broken and scope.get(WITHIN):
            await send({"type": _ABORT})
            raise StreamAborted("event stream aborted before its end")

    async def _respond(self, scope: Scope, receive: Receive, reading: Reading) -> None:
        watcher = asyncio.create_task(self._watch(receive, reading))
        try:
            await self._send(self._start())
            if scope["method"] == "HEAD":
                await self._write(b"", more=False)
            else:
                await self._pump()
        except asyncio.CancelledError:
            if not self._cut or (self._task and self._task.uncancel()):
                raise
        except (_Disconnected, OSError):
            pass
        finally:
            self._over = True
            watcher.cancel()
            await self._close()

    def cut(self) -> None:
        """Stop sending, without ending the response."""
        if not self._over and not self._cut and self._task:
            self._cut = True
            self._task.cancel()

    async def end(self) -> None:
        """Abort: the client's authentication was revoked or has expired."""
        self._broken = not self._cut and not self._over
        self.cut()

    def tick(self) -> None:
        """Send a heartbeat after a silent interval; called by the timer."""
        self._silent_ticks += 1
        if self._silent_ticks >= _TICKS and not self._writing.locked():
            self._silent_ticks = 0
            self._beat = asyncio.create_task(self._heartbeat())

    def _start(self) -> Message:
        headers = {**_HEADERS, **{name.lower(): value for name, value in self._headers.items()}}
        encoded = [
            (name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()
        ]
        return {"type": "http.response.start", "status": 200, "headers": encoded}

    async def _pump(self) -> None:
        self._heartbeats.add(self)
        try:
            async for batch in self._batches:
                if batch:
                    await self._write(batch)
        except _Disconnected:
            raise
        except NotFoundError as gone:  # the chat was deleted
            self._broken = True
            logger.info("event stream aborted: %s", gone)
        except Exception:
            self._broken = True
            run_id = self._headers.get("x-mobox-run", "unknown")
            logger.exception("event stream of run %s aborted", run_id)
        else:
            await self._write(b"", more=False)

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        async with self._writing:
            try:
                await self._send({"type": "http.response.body", "body": body, "more_body": more})
            except OSError:  # ASGI 2.4: the client has disconnected
                raise _Disconnected from None
            self._silent_ticks = 0

    async def _heartbeat(self) -> None:
        if not self._writing.locked() and not self._over:
            with suppress(_Disconnected):
                await self._write(_BEAT)

    async def _watch(self, receive: Receive, reading: Reading) -> None:
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
            reading.has_left = not self._over and not self._cut
        finally:
            self.cut()

    async def _close(self) -> None:
        self._heartbeats.remove(self)
        if self._beat:
            self._beat.cancel()
        try:
            if aclose := getattr(self._batches, "aclose", None):
                await aclose()
        except Exception:
            run_id = self._headers.get("x-mobox-run", "unknown")
            logger.exception("event stream of run %s: closing failed", run_id)


async def frames(
    log: Log, run_id: RunId, formatter: Formatter, after: int = 0
) -> AsyncIterator[bytes]:
    """The frames of a run, from its start or after an entry, until it ends or waits.

    Entries up to `after` are only fed to the formatter, as the client has them already.
    """
    if after:
        async for page in pages(log, run_id, through=after):
            format_all(formatter, page)
        yield sse.encode(formatter.resume())
    join = joining(formatter)
    entries: Sequence[LogEntry] = ()
    async for entries in log.follow(run_id, after, through_pauses=False):
        if batch := sse.frame(join(entries, sse.BETWEEN)):
            yield batch
    if not entries or not isinstance(entries[-1].event, Done):
        yield sse.encode(formatter.pause())
