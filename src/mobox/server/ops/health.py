"""The routes for operators: health, readiness and metrics."""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mobox.errors import StorageError
from mobox.server.errors import NO_STORAGE
from mobox.server.ops.metrics import CONTENT_TYPE, Registry
from mobox.server.services import json_response
from mobox.storage import Storage
from mobox.supervisor import Supervisor

METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
"""Methods that are counted by name; clients may send any others."""


DEAF: Final = "notifications from other processes are down: polling the database every second"


class Health(Struct):
    """The health status, and the problem if there is one."""

    status: str
    problem: str | None = None


class Counted:
    """ASGI middleware that counts responses."""

    def __init__(self, app: ASGIApp, *, metrics: Registry) -> None:
        self._app = app
        self._responses = metrics.counter(
            "mobox_responses_total", "HTTP responses started.", ("method", "status")
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in METHODS else "other"
                self._responses.add(method=method, status=str(message["status"]))
            await send(message)

        await self._app(scope, receive, counting if scope["type"] == "http" else send)


class Operated(Protocol):
    """The server or worker that these routes report on."""

    @property
    def storage(self) -> Storage: ...
    @property
    def supervisor(self) -> Supervisor: ...
    @property
    def metrics(self) -> Registry: ...


class OperationsRoutes:
    """`/healthz`, `/readyz` and `/metrics`."""

    def __init__(self, services: Operated) -> None:
        self._services = services

    async def health(self, _request: Request) -> Response:
        """The process is alive."""
        return json_response(self._health())

    async def ready(self, _request: Request) -> Response:
        """Whether new runs can be started here."""
        if self._services.supervisor.closing:
            return json_response(Health("closing", "the server is shutting down"), 503)
        try:
            await self._services.storage.stopping()  # a read, to check the database
        except StorageError:  # the supervisor logs the reason
            return json_response(Health("degraded", NO_STORAGE), 503)
        return json_response(self._health())

    def _health(self) -> Health:
        """Without notifications everything is up to a second slower, and nothing else."""
        is_degraded = self._services.storage.wake_ups == "down"
        return Health("degraded", DEAF) if is_degraded else Health("ok")

    async def metrics(self, _request: Request) -> Response:
        """Prometheus' text format."""
        return Response(self._services.metrics.render(), media_type=CONTENT_TYPE)
