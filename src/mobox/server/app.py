"""The ASGI application: its services opened and closed, its routes in one table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from mobox.catalog import Catalog
from mobox.delivery import socketio
from mobox.delivery.socketio import Sockets
from mobox.delivery.worker_forwarding import PeerForwarder
from mobox.server.authentication import (
    EVERY_SCOPE,
    Authenticator,
    AuthMiddleware,
    Hook,
    KeyHolders,
    Principal,
)
from mobox.server.bootstrap import metrics_of, open_supervisor
from mobox.server.connections import ConnectionRegistry, OwnerLimits
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
from mobox.server.website import Website

__all__ = ["create_app", "open_services", "routes_of"]


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
    limits = OwnerLimits(streams=settings.max_streams, runs_per_minute=settings.max_runs_per_minute)
    return Authenticator(principal or KeyHolders(storage), ConnectionRegistry(storage, limits))


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
