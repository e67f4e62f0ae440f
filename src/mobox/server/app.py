"""The ASGI application: its services opened and closed, its routes in one table."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from mobox import __version__
from mobox.capture.catalog import Catalog
from mobox.delivery import socketio
from mobox.delivery.socketio import Sockets
from mobox.delivery.worker_forwarding import PeerForwarder
from mobox.errors import DatabaseTooNew, InvalidSetting, StorageError
from mobox.server.auth.authentication import (
    EVERY_SCOPE,
    Authenticator,
    AuthMiddleware,
    Hook,
    KeyHolders,
    Principal,
)
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.errors import exception_handlers
from mobox.server.eventstream import Heartbeats
from mobox.server.guard import Guard
from mobox.server.openapi import docs_page, document
from mobox.server.ops.health import Counted
from mobox.server.ops.metrics import Registry
from mobox.server.routes import ROUTES, served
from mobox.server.services import Services, json_response
from mobox.server.socketio.session_index import SessionIndex
from mobox.server.socketio.sessions import Sessions
from mobox.server.website import Website
from mobox.settings import OWNER, Settings
from mobox.storage import Storage, open_storage
from mobox.supervisor import Supervisor

# What servers and workers open alike: the store, the agents and the supervisor.

log = logging.getLogger("mobox.server")

_WHERE_TO_STORE: Final = "set the database with database_url, --database-url or DATABASE_URL"


@asynccontextmanager
async def open_supervisor(
    settings: Settings, catalog: Catalog | None = None
) -> AsyncIterator[tuple[Storage, Supervisor]]:
    """Open the store and the supervisor; on exit stop the agents and close both."""
    if not settings.executes:
        settings.check_shared("execute")
    _make_folder(settings.data)
    if catalog is None:
        catalog = _load_agents(settings)
    if settings.executes:
        _warn_of_missing_variables(catalog)
    storage = await _open_storage(settings)
    try:
        async with Supervisor(
            storage, catalog, settings.data, limits=settings, default_agent=settings.agent
        ) as supervisor:
            yield storage, supervisor
    finally:
        await storage.close()


def metrics_of(storage: Storage, supervisor: Supervisor) -> Registry:
    """The metrics that servers and workers export."""
    metrics = Registry()
    metrics.gauge(
        "mobox_wake_ups",
        "1 if notifications from other processes are up, 0 if the database is polled.",
        lambda: int(storage.wake_ups == "up"),
    )
    metrics.gauge(
        "mobox_legs", "Attempts (agents) running in this process.", lambda: supervisor.running
    )
    return metrics


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot create this folder: {error.strerror}"
        raise InvalidSetting("data", str(folder), problem) from None


def _load_agents(settings: Settings) -> Catalog:
    folder = settings.agents_folder
    if not folder.is_dir():
        raise InvalidSetting("agents", str(folder), "no such folder")
    catalog = Catalog.load(folder)
    for problem in catalog.problems:
        log.warning("agent skipped: %s", problem)
    known = [agent.id for agent in catalog]
    if not known:
        log.warning("no agents: no folder in %s has a valid agent.yaml", folder)
    elif settings.agent is not None and settings.agent not in known:
        raise InvalidSetting("agent", settings.agent, f"no such agent; known: {', '.join(known)}")
    return catalog


def _warn_of_missing_variables(catalog: Catalog) -> None:
    for agent in catalog:
        if problem := agent.lacks():
            log.warning("%s", problem)


async def _open_storage(settings: Settings) -> Storage:
    try:
        return await open_storage(settings.database, settings, settings.redis_url)
    except DatabaseTooNew:
        raise
    except StorageError as error:
        raise StorageError(f"{error} ({_WHERE_TO_STORE})") from None


# The pages of the API documentation.

STYLE: Final = Path(__file__).parent / "static" / "docs.css"


class Pages:
    """The documentation, generated on first request."""

    async def docs(self, request: Request) -> Response:
        """The API documentation as HTML."""
        base = str(request.url.replace(path=request.scope.get("root_path", ""), query=""))
        page = docs_page(self._document, base, css="static/docs.css", json="openapi.json")
        return Response(page, media_type="text/html")

    async def style(self, _request: Request) -> Response:
        """The style sheet of the documentation."""
        return Response(self._style, media_type="text/css")

    async def openapi(self, _request: Request) -> Response:
        """The OpenAPI document."""
        return json_response(self._document)

    @cached_property
    def _style(self) -> bytes:
        return STYLE.read_bytes()

    @cached_property
    def _document(self) -> dict[str, Any]:
        return document(tuple(ROUTES.values()), __version__)


@asynccontextmanager
async def open_services(
    settings: Settings, catalog: Catalog | None = None, neighbours: PeerForwarder | None = None
) -> AsyncIterator[Services]:
    """Open everything that a server needs; on exit stop its agents and close it.

    Without a catalog the agents are loaded from the folder in the settings.
    """
    async with open_supervisor(settings, catalog) as (storage, supervisor):
        heartbeats = Heartbeats()
        heartbeats.start()
        metrics = metrics_of(storage, supervisor)
        metrics.gauge(
            "mobox_streams", "Open event streams (SSE responses).", lambda: heartbeats.open_streams
        )
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


def _sockets(
    sessions: Sessions, metrics: Registry, settings: Settings, peers: PeerForwarder | None
) -> Sockets:
    sockets = Sockets(sessions, most_bytes=settings.max_body, neighbours=peers)
    metrics.gauge("mobox_sockets", "Connected Socket.IO clients.", lambda: sockets.open_sockets)
    metrics.gauge(
        "mobox_sockets_held",
        "Characters buffered for sockets that have not read them yet.",
        lambda: sockets.held,
    )
    return sockets


def create_app(services: Services, principal: Hook | None = None) -> ASGIApp:
    """The application. The caller opens and closes its services.

    `principal` is the authentication hook of an app around this one.
    """
    settings = services.settings
    app = Starlette(
        routes=routes_of(services),
        middleware=_cross_origin(settings.origins),
        exception_handlers=exception_handlers,
    )
    # Around all of Starlette, whose handler of unexpected errors is outside its middleware.
    guarded = Guard(
        AuthMiddleware(app, _door(services, principal)),
        hosts=settings.hosts_of(is_hooked=principal is not None),
        origins=settings.origins,
        max_body=settings.max_body,
        takes_addresses=_knows_owners(settings, principal),
        is_hooked=principal is not None,
    )
    return Counted(guarded, metrics=services.metrics)


def _door(services: Services, principal: Hook | None) -> Authenticator:
    settings, storage = services.settings, services.storage
    if not _knows_owners(settings, principal):
        return Authenticator(_local_owner, ConnectionRegistry(storage, None))
    return Authenticator(principal or KeyHolders(storage), ConnectionRegistry(storage, settings))


def _knows_owners(settings: Settings, principal: Hook | None) -> bool:
    return principal is not None or settings.auth == "keys"


def _local_owner(_connection: HTTPConnection) -> Principal:
    """Without authentication all clients are the same owner, with all scopes."""
    return Principal(OWNER, EVERY_SCOPE)


def _cross_origin(origins: Collection[str]) -> list[Middleware]:
    """CORS: let pages of these origins send requests and read the responses."""
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
    """All routes: the API, the documentation and the page."""
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
