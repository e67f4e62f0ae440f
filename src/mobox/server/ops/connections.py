"""HTTP connections with limits that uvicorn lacks: the size of headers, the time of a request.

Rule 1: the headers of a request have at most `MOST_HEADERS` bytes. More are refused with 431.
Rule 2: headers must be complete `seconds` after their first byte, or after the client connected. A
        body must bring `LEAST_BODY` bytes in each `seconds`; time in which we do not read does not
        count. A slower client gets 408.
Rule 3: all of this happens before any other code of the server sees the request. What was closed
        is counted, and logged at most once a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from functools import partial
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mobox.server.metrics import Registry

log = logging.getLogger("mobox.server")

MOST_HEADERS: Final = 64 << 10
LEAST_BODY: Final = 1 << 10
"""Bytes of a body that must come in time, unless it ends: slower than any real connection."""
LOG_SECONDS: Final = 60.0

_TOO_LARGE: Final = "headers_too_large"
_SLOW_HEADERS: Final = "slow_headers"
_SLOW_BODY: Final = "slow_body"
_RESPONSES: Final = {
    _TOO_LARGE: (b"431 Request Header Fields Too Large", b"The request's headers are too large.\n"),
    _SLOW_HEADERS: (b"408 Request Timeout", b"The request did not arrive in time.\n"),
    _SLOW_BODY: (b"408 Request Timeout", b"The request did not arrive in time.\n"),
}


class ConnectionLimits:
    """The limits of one server's connections, and what they have closed."""

    def __init__(self, seconds: float, metrics: Registry) -> None:
        self.seconds = seconds
        self._closed = metrics.counter(
            "mobox_connections_refused_total",
            "Connections closed because a request was too large or too slow, by reason.",
            ("reason",),
        )
        self._unlogged: Counter[str] = Counter()
        self._logged_at = float("-inf")

    def apply_to(self, config: uvicorn.Config) -> None:
        """Let a server's connections have these limits; call it after `config.load()`."""
        config.http_protocol_class = partial(LimitedConnection, self)  # type: ignore[assignment]

    def check(self, state: uvicorn.server.ServerState, now: float) -> None:
        """Close the connections whose requests take too long. To be called every second or so."""
        for connection in tuple(state.connections):
            if isinstance(connection, LimitedConnection):
                connection.check(now)
        self._log(now)

    def count(self, reason: str) -> None:
        """A connection was closed for this reason."""
        self._closed.add(reason=reason)
        self._unlogged[reason] += 1

    def _log(self, now: float) -> None:
        if self._unlogged and now - self._logged_at >= LOG_SECONDS:
            reasons = ", ".join(f"{reason}: {n}" for reason, n in sorted(self._unlogged.items()))
            log.warning("closed connections with incomplete or too large requests: %s", reasons)
            self._unlogged.clear()
            self._logged_at = now


class LimitedConnection(HttpToolsProtocol):
    """A connection of a client."""

    def __init__(self, limits: ConnectionLimits, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self._is_refused = False
        self._reads_headers = True
        self._reads_body = False
        self._received = 0
        """Bytes of the headers; of a body, those since the last check that it goes on."""
        self._since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        if self._is_idle:  # now: the parser skips empty lines, and uvicorn's own timeout has ended
            self._begin(headers=True)
        if self._reads_headers:
            self._received += len(data)
        super().data_received(data)
        if self._reads_headers and self._received > MOST_HEADERS:
            self._refuse(_TOO_LARGE)

    # What the parser reports

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self._reads_headers:  # not the first request: that began with the connection
            self._begin(headers=True)

    def on_headers_complete(self) -> None:
        if self._is_refused:  # the request after one that was refused
            return
        if len(self.url) + sum(len(n) + len(v) for n, v in self.headers) > MOST_HEADERS:
            self._refuse(_TOO_LARGE)
            return
        self._begin(headers=False)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            self._received += len(body)
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_refused:
            self._reads_body = False
            super().on_message_complete()

    @property
    def _is_idle(self) -> bool:
        """Whether it waits for the next request."""
        is_reading = self._reads_headers or self._reads_body
        return not is_reading and bool(self.cycle) and self.cycle.response_complete

    def _begin(self, *, headers: bool) -> None:
        self._reads_headers, self._reads_body = headers, not headers
        self._received, self._since = 0, self.loop.time()

    # The limits

    def check(self, now: float) -> None:
        """Close the connection if its request takes too long."""
        if now - self._since < self._limits.seconds:
            return
        if self._reads_headers:
            self._refuse(_SLOW_HEADERS)
        elif self._reads_body:
            if self._received < LEAST_BODY and not self.flow.read_paused:
                self._refuse(_SLOW_BODY)
            self._received, self._since = 0, now

    def _refuse(self, reason: str) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        if not self._has_answered and (self._received or reason == _TOO_LARGE):
            self._respond(*_RESPONSES[reason])
        self._limits.count(reason)
        self.transport.close()

    @property
    def _has_answered(self) -> bool:
        """Whether a response has started that another one would break."""
        is_earlier = self._reads_headers and bool(self.cycle) and self.cycle.response_complete
        return bool(self.cycle) and self.cycle.response_started and not is_earlier

    def _respond(self, status: bytes, text: bytes) -> None:
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(text), text)
        )
