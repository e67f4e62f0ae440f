"""The routes for operators: health, readiness and metrics."""

from __future__ import annotations

from typing import Final, Protocol

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import StorageError
from mobox.server.errors import NO_STORAGE
from mobox.server.metrics import CONTENT_TYPE, Registry
from mobox.server.services import json_response
from mobox.storage import Storage
from mobox.supervisor import Supervisor

POLLING: Final = "notifications from other processes are down: polling the database every second"


class Health(Struct):
    """The health status, and the problem if there is one."""

    status: str
    problem: str | None = None


class Operated(Protocol):
    """The server or worker that is reported on."""

    @property
    def storage(self) -> Storage: ...
    @property
    def supervisor(self) -> Supervisor: ...
    @property
    def metrics(self) -> Registry: ...


async def alive(_request: Request, process: Operated) -> Response:
    """The process is alive."""
    return json_response(_health(process))


async def ready(_request: Request, process: Operated) -> Response:
    """Whether new runs can be started here."""
    if process.supervisor.closing:
        return json_response(Health("closing", "the server is shutting down"), 503)
    try:
        await process.storage.stopping()  # a read, to check the database
    except StorageError:  # the supervisor logs the reason
        return json_response(Health("degraded", NO_STORAGE), 503)
    return json_response(_health(process))


async def metrics(_request: Request, process: Operated) -> Response:
    """Prometheus' text format."""
    return Response(process.metrics.render(), media_type=CONTENT_TYPE)


def _health(process: Operated) -> Health:
    """Without notifications everything is up to a second slower, and nothing else."""
    return Health("degraded", POLLING) if process.storage.wake_ups == "down" else Health("ok")
