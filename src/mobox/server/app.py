"""The ASGI application: its services opened and closed, its routes in one table."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from mobox.catalog import Catalog
from mobox.delivery import socketio
from mobox.delivery.neighbours import Neighbours
from mobox.delivery.socketio import Sockets
from mobox.errors import DatabaseTooNew, InvalidSetting, StorageError
from mobox.server.authentication import EVERY_SCOPE, Door, Doored, Hook, KeyHolders, Principal
from mobox.server.errors import exception_handlers
from mobox.server.eventstream import Heartbeats
from mobox.server.guard import Guard
from mobox.server.metrics import Registry
from mobox.server.operations import Counted
from mobox.server.pages import Pages
from mobox.server.routes import served
from mobox.server.services import Services
from mobox.server.session_index import SessionIndex
from mobox.server.sessions import Sessions
from mobox.server.settings import OWNER, Settings
from mobox.server.visits import OwnerLimits, Visits
from mobox.server.website import Website
from mobox.storage import Settings as StoreSettings
from mobox.storage import Storage, open_storage
from mobox.supervisor import Limits, Supervisor

__all__ = ["create_app", "open_services", "open_supervisor", "routes_of"]

log = logging.getLogger("mobox.server")

_WHERE_TO_STORE: Final = "where to store: database_url; by a command --database-url, DATABASE_URL"


@asynccontextmanager
async def open_services(
    settings: Settings, catalog: Catalog | None = None, neighbours: Neighbours | None = None
) -> AsyncIterator[Services]:
    """What a server needs, for as long as it runs; at the end its agents are ended.

    Without a catalog the agents are those in the folder that the settings name.
    """
    async with open_supervisor(settings, catalog) as (storage, supervisor):
        heartbeats = Heartbeats()
        heartbeats.start()
        metrics = _metrics(storage, supervisor, heartbeats)
        index = SessionIndex(storage)
        sessions = Sessions(storage, supervisor, index, metrics)
        sockets = _sockets(sessions, metrics, settings, neighbours)
        try:
            await sockets.listen()
            yield Services(
                settings=settings,
                storage=storage,
                supervisor=supervisor,
                heartbeats=heartbeats,
                metrics=metrics,
                website=Website(),
                sockets=sockets,
                index=index,
            )
        finally:
            await sockets.leave(0)
            await sockets.aclose()
            heartbeats.stop()


@asynccontextmanager
async def open_supervisor(
    settings: Settings, catalog: Catalog | None = None
) -> AsyncIterator[tuple[Storage, Supervisor]]:
    """The store and who looks after its runs, with what a server and a worker have in common."""
    if settings.execute != "here":
        settings.check_shared("execute")
    _make_folder(settings.data)
    if catalog is None:
        catalog = _load_agents(settings)
    storage = await _open_storage(settings)
    most = settings.max_runs if settings.execute == "here" else 0
    limits = Limits(runs=most, runs_per_owner=settings.runs_per_owner, hold=settings.hold)
    try:
        async with Supervisor(
            storage, catalog, settings.data, limits=limits, default_agent=settings.agent
        ) as supervisor:
            yield storage, supervisor
    finally:
        await storage.close()


def _metrics(storage: Storage, supervisor: Supervisor, heartbeats: Heartbeats) -> Registry:
    metrics = Registry()
    metrics.gauge(
        "mobox_wake_ups",
        "Whether other processes' news comes by itself.",
        lambda: int(storage.wake_ups == "up"),
    )
    metrics.gauge("mobox_legs", "Agents at work here.", lambda: supervisor.running)
    metrics.gauge(
        "mobox_streams", "Responses that are being streamed.", lambda: heartbeats.open_streams
    )
    return metrics


def _sockets(
    sessions: Sessions, metrics: Registry, settings: Settings, neighbours: Neighbours | None
) -> Sockets:
    sockets = Sockets(sessions, most_bytes=settings.max_body, neighbours=neighbours)
    metrics.gauge("mobox_sockets", "Sockets that are connected.", lambda: sockets.open_sockets)
    metrics.gauge(
        "mobox_sockets_held", "Characters that sockets are yet to take.", lambda: sockets.held
    )
    return sockets


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot make this folder: {error.strerror}"
        raise InvalidSetting("data", str(folder), problem) from None


def _load_agents(settings: Settings) -> Catalog:
    folder = settings.agents_folder
    if not folder.is_dir():
        raise InvalidSetting("agents", str(folder), "no such folder")
    catalog = Catalog.load(folder)
    for problem in catalog.problems:
        log.warning("an agent is left out: %s", problem)
    known = [agent.id for agent in catalog]
    if not known:
        log.warning(
            "nobody is there to answer: no agent.yaml in a folder of %s can be used", folder
        )
    elif settings.agent is not None and settings.agent not in known:
        raise InvalidSetting("agent", settings.agent, f"no such agent; known: {', '.join(known)}")
    return catalog


async def _open_storage(settings: Settings) -> Storage:
    kept = StoreSettings(
        lease_seconds=settings.lease,
        queue_seconds=settings.queue,
        channel_prefix=settings.redis_prefix,
    )
    try:
        return await open_storage(settings.database, kept, settings.redis_url)
    except DatabaseTooNew:
        raise
    except StorageError as error:
        raise StorageError(f"{error} ({_WHERE_TO_STORE})") from None


def create_app(services: Services, principal: Hook | None = None) -> ASGIApp:
    """The application. Its services are the caller's to open and to close.

    `principal` says who asks, by what an app around this one knows of a request.
    """
    settings = services.settings
    app = Starlette(
        routes=routes_of(services),
        middleware=_cross_origin(settings.origins),
        exception_handlers=exception_handlers,
    )
    # Around all of Starlette, which tells what went wrong outside of its own middleware.
    guarded = Guard(
        Doored(app, _door(services, principal)),
        hosts=settings.hosts_of(is_hooked=principal is not None),
        origins=settings.origins,
        max_body=settings.max_body,
        takes_addresses=_knows_owners(settings, principal),
        is_hooked=principal is not None,
    )
    return Counted(guarded, metrics=services.metrics)


def _door(services: Services, principal: Hook | None) -> Door:
    settings, storage = services.settings, services.storage
    if not _knows_owners(settings, principal):
        return Door(_anybody, Visits(storage, None))
    limits = OwnerLimits(streams=settings.max_streams, runs_per_minute=settings.max_runs_per_minute)
    return Door(principal or KeyHolders(storage), Visits(storage, limits))


def _knows_owners(settings: Settings, principal: Hook | None) -> bool:
    return principal is not None or settings.auth == "keys"


def _anybody(_connection: HTTPConnection) -> Principal:
    """On a server without keys everybody is the same, and may everything."""
    return Principal(OWNER, EVERY_SCOPE)


def _cross_origin(origins: Collection[str]) -> list[Middleware]:
    """Let the pages of these origins ask, and read the answers."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", "last-event-id"],
            expose_headers=["x-mobox-run", "x-mobox-status", "retry-after", "www-authenticate"],
        )
    ]


def routes_of(services: Services) -> list[BaseRoute]:
    """All that is served, with what people see."""
    pages, website = Pages(), services.website
    return [
        *served(services),
        Mount(socketio.PATH, services.sockets),
        Route("/docs", pages.docs),
        Route("/openapi.json", pages.openapi),
        Route("/static/docs.css", pages.style),
        Route("/", website.page),
        Route("/chat", website.page),
        Route("/chat/{chat_id:path}", website.page),
        Route("/favicon.ico", website.icon),
        Route("/assets/{name:path}", website.asset),
        Route("/{name}", website.file),
    ]
