"""The routes for operators: health, readiness and metrics."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import StorageError
from mobox.server.errors import NO_STORAGE
from mobox.server.metrics import CONTENT_TYPE
from mobox.server.services import Process, json_response

POLLING: Final = "notifications from other processes are down: polling the database every second"


class Health(Struct):
    """The health status, and the problem if there is one."""

    status: str
    problem: str | None = None


async def alive(_request: Request, process: Process) -> Response:
    """The process is alive."""
    return json_response(_health(process))


async def ready(_request: Request, process: Process) -> Response:
    """Whether new runs can be started here."""
    if process.supervisor.closing:
        return json_response(Health("closing", "the server is shutting down"), 503)
    try:
        await process.storage.stopping()  # a read, to check the database
    except StorageError:  # the supervisor logs the reason
        return json_response(Health("degraded", NO_STORAGE), 503)
    return json_response(_health(process))


async def metrics(_request: Request, process: Process) -> Response:
    """Prometheus' text format."""
    return Response(process.metrics.render(), media_type=CONTENT_TYPE)


def _health(process: Process) -> Health:
    """Without notifications everything is up to a second slower, and nothing else."""
    return Health("degraded", POLLING) if process.storage.wake_ups == "down" else Health("ok")
