"""The routes for operators: health, readiness and metrics."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import DatabaseTooNew, NoFreeConnection, StorageError, StorageFull, WrongPooler
from mobox.server.errors import NO_STORAGE
from mobox.server.metrics import CONTENT_TYPE
from mobox.server.services import Process, json_response

POLLING: Final = "notifications from other processes are down: polling the database every second"


class Health(Struct, omit_defaults=True):
    """The health status, and the problem if there is one."""

    status: str
    problem: str | None
    reason: str = ""
    """The name of the problem, for programs, if it is the database's."""


REASONS: Final[tuple[tuple[type[StorageError], str, str], ...]] = (
    (StorageFull, "disk_full", "the disk of the database, or of the data folder, is full"),
    (NoFreeConnection, "no_connections", "PostgreSQL has no free connection for this process"),
    (
        WrongPooler,
        "wrong_pooler",
        "a pooler in transaction or statement mode is between this process and PostgreSQL",
    ),
    (
        DatabaseTooNew,
        "newer_schema",
        "a newer version of Mobox has migrated the database: update this process",
    ),
    (StorageError, "unavailable", NO_STORAGE),
)
"""The first that an error is; the details are in the server's log only."""


async def alive(_request: Request, process: Process) -> Response:
    """The process is alive."""
    return json_response(_health(process))


async def ready(_request: Request, process: Process) -> Response:
    """Whether new runs can be started here."""
    if process.supervisor.closing:
        return json_response(Health("closing", "the server is shutting down"), 503)
    if (problem := await process.readiness.problem()) is not None:
        return json_response(_degraded(problem), 503)
    return json_response(_health(process))


async def metrics(_request: Request, process: Process) -> Response:
    """Prometheus' text format."""
    await process.readiness.refresh_load()
    return Response(process.metrics.render(), media_type=CONTENT_TYPE)


def _degraded(problem: StorageError) -> Health:
    for kind, reason, sentence in REASONS:
        if isinstance(problem, kind):
            return Health("degraded", sentence, reason)
    raise AssertionError(problem)


def _health(process: Process) -> Health:
    """Without notifications everything is up to a second slower, and nothing else."""
    if process.storage.wake_ups == "down":
        return Health("degraded", POLLING)
    return Health("ok", None)
