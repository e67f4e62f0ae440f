"""Serves the gateway on sockets of its own, in the process that executes agents.

Not a route of the server: a worker has no web server, the server's own address may be public and
has other checks, and a sandbox without a network hands a listening socket of its own out, which
`add` takes.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from mobox.models.requests import ONLY, TARGET

KEEP_ALIVE: Final = 300
"""Seconds that an idle connection of an agent is kept."""

_quiet = logging.getLogger("mobox.models.http")
"""For what uvicorn says about broken responses: the gateway logs failed calls itself."""
_quiet.disabled = True


class _Protocol(HttpToolsProtocol):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger = _quiet

    def on_headers_complete(self) -> None:
        """Keep the target as it was sent: uvicorn passes the path of an absolute URL only."""
        self.scope[TARGET] = self.url  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()


class ServedSocket:
    """The socket of a sandbox, served from a task until it is closed."""

    def __init__(self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._socket = listening
        self._server: asyncio.Server | None = None
        self._task = asyncio.get_running_loop().create_task(self._open(protocol))

    async def _open(self, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(protocol, sock=self._socket)

    def close(self) -> None:
        """Accept no more; the connections end with the sandbox."""
        self._task.cancel()
        if self._server is not None:
            self._server.close()
        else:
            self._socket.close()


class Listener:
    """The sockets on which an app is served. Created in an event loop; `close` ends all."""

    def __init__(self, app: ASGIApp) -> None:
        self._config = uvicorn.Config(
            app,
            lifespan="off",
            access_log=False,
            log_config=None,
            ws="none",
            interface="asgi3",
            proxy_headers=False,
            server_header=False,  # the provider's own headers pass
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE,
        )
        self._config.load()
        self._state = ServerState()
        self._servers: list[asyncio.Server] = []

    async def open(self) -> str:
        """Listen on a free port of this machine; its address."""
        listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        await self.add(listening)
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    async def add(self, listening: socket.socket) -> None:
        """Serve on one more socket."""
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_server(self._protocol, sock=listening))

    def serve(self, listening: socket.socket, only: object) -> ServedSocket:
        """Serve on the socket of one sandbox; requests have `only` in their scope's state."""
        return ServedSocket(listening, lambda: self._protocol(only))

    def _protocol(self, only: object = None) -> asyncio.Protocol:
        state = {} if only is None else {ONLY: only}
        return _Protocol(config=self._config, server_state=self._state, app_state=state)

    async def close(self) -> None:
        """Close all sockets, and abort the connections: the agents have ended."""
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        if tasks := set(self._state.tasks):
            await asyncio.wait(tasks)
