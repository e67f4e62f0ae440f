"""The ASGI application: its services opened and closed, its routes in one table."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from mobox.catalog import Catalog
from mobox.server.chat import ChatRoutes
from mobox.server.chats import ChatsRoutes
from mobox.server.errors import exception_handlers
from mobox.server.eventstream import Heartbeats
from mobox.server.guard import Guard
from mobox.server.metrics import Registry
from mobox.server.operations import Counted, OperationsRoutes
from mobox.server.services import Services
from mobox.server.settings import Settings
from mobox.storage import open_storage
from mobox.supervisor import Limits, Supervisor

__all__ = ["create_app", "open_services"]

log = logging.getLogger("mobox.server")

STATIC: Final = Path(__file__).parent / "static"
OUR_AGENTS: Final = Path(__file__).parent.parent / "agents"


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """What a server needs, for as long as it runs; at the end its agents are ended."""
    settings.data.mkdir(parents=True, exist_ok=True)
    catalog = Catalog.load(agents_folder(settings))
    for problem in catalog.problems:
        log.warning("an agent is left out: %s", problem)
    storage = await open_storage(settings.database)
    try:
        heartbeats = Heartbeats()
        heartbeats.start()
        limits = Limits(
            runs=settings.max_runs, runs_per_owner=settings.max_runs, hold=settings.hold
        )
        supervisor = Supervisor(
            storage, catalog, settings.data, limits=limits, default_agent=settings.agent
        )
        async with supervisor:
            yield Services(
                settings=settings,
                storage=storage,
                supervisor=supervisor,
                heartbeats=heartbeats,
                metrics=_metrics(supervisor, heartbeats),
            )
        heartbeats.stop()
    finally:
        await storage.close()


def _metrics(supervisor: Supervisor, heartbeats: Heartbeats) -> Registry:
    metrics = Registry()
    metrics.gauge("mobox_legs", "Agents at work here.", read=lambda: supervisor.running)
    metrics.gauge(
        "mobox_streams", "Responses that are being streamed.", read=lambda: heartbeats.open_streams
    )
    return metrics


def agents_folder(settings: Settings) -> Path:
    """Where agents are looked for: where it is said, else beside us, else in the package."""
    if settings.agents is not None:
        return settings.agents
    beside = Path("agents")
    return beside if beside.is_dir() else OUR_AGENTS


def create_app(services: Services) -> Starlette:
    """The application. Its services are the caller's to open and to close."""
    settings = services.settings
    guard = Middleware(
        Guard,
        hosts=settings.hosts,
        origins=settings.allowed_origins,
        max_body=settings.max_body,
    )
    counted = Middleware(Counted, metrics=services.metrics)
    return Starlette(
        routes=_routes(services), middleware=[counted, guard], exception_handlers=exception_handlers
    )


def _routes(services: Services) -> list[BaseRoute]:
    chat, chats, operations = (
        ChatRoutes(services),
        ChatsRoutes(services),
        OperationsRoutes(services),
    )
    return [
        Route("/api/chat", chat.post, methods=["POST"]),
        Route("/api/chat/{chat_id}/stream", chat.stream, methods=["GET"]),
        Route("/api/chat/{chat_id}/stop", chat.stop, methods=["POST"]),
        Route("/api/chat/{chat_id}/answer", chat.answer, methods=["POST"]),
        Route("/api/chats", chats.find, methods=["GET"]),
        Route("/api/chats/{chat_id}", chats.get, methods=["GET"]),
        Route("/api/chats/{chat_id}", chats.rename, methods=["PATCH"]),
        Route("/api/chats/{chat_id}", chats.delete, methods=["DELETE"]),
        Route("/api/chats/{chat_id}/messages", chats.messages, methods=["GET"]),
        Route("/api/agents", chats.agents, methods=["GET"]),
        Route("/healthz", operations.health, methods=["GET"]),
        Route("/readyz", operations.ready, methods=["GET"]),
        Route("/metrics", operations.metrics, methods=["GET"]),
        Route("/", operations.page, methods=["GET"]),
        Route("/chat/{chat_id}", operations.page, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
