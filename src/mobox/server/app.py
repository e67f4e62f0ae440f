"""The ASGI application, and the services behind it: opened, and closed again."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from math import nan
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.types import ASGIApp

from mobox.capture.catalog import Catalog, WatchedCatalog
from mobox.delivery.socketio import Sockets
from mobox.delivery.worker_forwarding import PeerForwarder
from mobox.errors import DatabaseTooNew, InvalidSetting, StorageError
from mobox.models.config import load_config
from mobox.server.actions import ChatActions
from mobox.server.agent_clients import AgentClients
from mobox.server.auth.authentication import Authenticator, Hook, KeyAuthentication
from mobox.server.auth.connections import ConnectionRegistry
from mobox.server.auth.principal import EVERY_SCOPE, Principal
from mobox.server.auth.rate_limit import RateLimit
from mobox.server.brand import Brand
from mobox.server.brief_storage import brief_storage
from mobox.server.egress import served_egress
from mobox.server.errors import exception_handlers
from mobox.server.eventstream import Heartbeats
from mobox.server.guard import Allowed, BodyRule, Guard
from mobox.server.heavy_reads import HeavyReads
from mobox.server.metrics import Registry
from mobox.server.models import call_metrics, served_models
from mobox.server.readers import Readers
from mobox.server.readiness import Readiness
from mobox.server.routes import ROUTES, starlette_routes
from mobox.server.services import CompleteLogs, Process, Services
from mobox.server.session_index import SessionIndex
from mobox.server.socketio.sessions import Sessions
from mobox.server.website import Website
from mobox.settings import OWNER, Settings
from mobox.storage import Storage, open_storage
from mobox.storage.health import Load
from mobox.supervisor import Supervisor

log = logging.getLogger("mobox.server")

_WHERE_TO_STORE: Final = "set the database with database_url, --database-url or DATABASE_URL"


@asynccontextmanager
async def open_process(
    settings: Settings, catalog: Catalog | None = None
) -> AsyncIterator[Process]:
    """Open the store and the supervisor; on exit stop the agents and close both.

    Without a catalog the agents are loaded from the folder in the settings.
    """
    if not settings.executes:
        settings.check_shared("execute")
    _make_folder(settings.data)
    config = load_config(settings)
    if catalog is None:
        catalog = _load_agents(settings, config.providers)
    if settings.executes:
        for problem in filter(None, (agent.lacks() for agent in catalog)):
            log.warning("%s", problem)
    storage = await _open_storage(settings)
    metrics = Registry()
    try:
        async with (
            served_models(settings, config, call_metrics(metrics)) as models,
            served_egress(settings) as egress,
            Supervisor(
                storage,
                catalog,
                settings.data,
                settings=settings,
                default_agent=settings.agent,
                models=models,
                egress=egress,
            ) as supervisor,
        ):
            readiness = Readiness(storage, settings.data)
            _add_gauges(metrics, storage, supervisor)
            _add_load(metrics, readiness)
            yield Process(
                settings=settings,
                storage=storage,
                supervisor=supervisor,
                metrics=metrics,
                models=models,
                readiness=readiness,
            )
    finally:
        await storage.close()


def _add_gauges(metrics: Registry, storage: Storage, supervisor: Supervisor) -> None:
    metrics.gauge(
        "mobox_wake_ups",
        "1 if notifications from other processes are up, 0 if the database is polled.",
        lambda: int(storage.wake_ups == "up"),
    )
    metrics.gauge(
        "mobox_legs", "Attempts (agents) running in this process.", lambda: supervisor.running
    )
    metrics.gauge(
        "mobox_spares",
        "Processes of agents that wait in this process for a turn (warm start).",
        lambda: supervisor.spares,
    )
    metrics.gauge(
        "mobox_writer_up",
        "1 if the last write to the database was committed, 0 if it cannot be written.",
        lambda: int(storage.can_write),
    )
    ended = metrics.counter(
        "mobox_attempts_ended_total",
        "Attempts of this process that have ended: by the reason of their run's end, or as waiting"
        " or taken_over.",
        ("end",),
    )
    supervisor.when_attempt_ends(lambda end: ended.add(end=end))


def _add_load(metrics: Registry, readiness: Readiness) -> None:
    def read(number: Callable[[Load], float]) -> Callable[[], float]:
        return lambda: nan if readiness.load is None else number(readiness.load)

    metrics.gauge(
        "mobox_queued_runs",
        "Runs of all processes that wait to be claimed; NaN if the database does not answer.",
        read(lambda load: load.queued),
    )
    metrics.gauge(
        "mobox_queued_oldest_seconds",
        "How long the oldest of them has waited.",
        read(lambda load: load.oldest_ms / 1000),
    )
    metrics.gauge(
        "mobox_leases",
        "Running runs whose lease this process holds.",
        read(lambda load: load.leases),
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot create this folder: {error.strerror}"
        raise InvalidSetting("data", str(folder), problem) from None


def _load_agents(settings: Settings, models: Collection[str]) -> Catalog:
    folder = settings.agents_folder
    if not folder.is_dir():
        raise InvalidSetting("agents", str(folder), "no such folder")
    if settings.is_local:
        catalog: Catalog = WatchedCatalog(folder, _report, models)
    else:
        catalog = Catalog.load(folder, models)
    if not settings.is_local:
        _report(catalog)
    known = [agent.id for agent in catalog]
    if not known:
        log.warning("no agents: no folder in %s has a valid agent.yaml", folder)
    elif settings.agent is not None and settings.agent not in known:
        raise InvalidSetting("agent", settings.agent, f"no such agent; known: {', '.join(known)}")
    return catalog


def _report(catalog: Catalog) -> None:
    """Log what was loaded."""
    for problem in catalog.problems:
        log.warning("agent skipped: %s", problem)
    log.debug("agents loaded: %s", ", ".join(agent.id for agent in catalog) or "none")


async def _open_storage(settings: Settings) -> Storage:
    try:
        return await open_storage(settings.database, settings, settings.redis_url)
    except DatabaseTooNew:
        raise
    except StorageError as error:
        raise StorageError(f"{error} ({_WHERE_TO_STORE})") from None


@asynccontextmanager
async def open_services(
    settings: Settings, catalog: Catalog | None = None, peers: PeerForwarder | None = None
) -> AsyncIterator[Services]:
    """Open everything that a server needs; on exit stop its agents and close it."""
    brand = Brand.of(settings)
    async with open_process(settings, catalog) as process:
        complete, metrics = process.storage, process.metrics
        storage = complete if settings.shows_error_details else brief_storage(complete)
        heartbeats = Heartbeats()
        heartbeats.start()
        actions, index = ChatActions(storage, process.supervisor), SessionIndex(storage)
        readers = Readers(storage, lambda: process.supervisor.stopping)
        sessions = Sessions(settings, storage, actions, index, readers, metrics)
        sockets = Sockets(sessions, max_bytes=settings.max_body, peers=peers)
        metrics.gauge(
            "mobox_streams", "Open event streams (SSE responses).", lambda: heartbeats.open_streams
        )
        metrics.gauge("mobox_sockets", "Connected Socket.IO clients.", lambda: sockets.open_sockets)
        metrics.gauge(
            "mobox_sockets_held",
            "Characters buffered for sockets that have not read them yet.",
            lambda: sockets.held,
        )
        try:
            await sockets.listen()
            yield Services(
                settings=settings,
                storage=storage,
                supervisor=process.supervisor,
                metrics=metrics,
                models=process.models,
                readiness=process.readiness,
                actions=actions,
                heartbeats=heartbeats,
                website=Website(brand=brand, framed_by=settings.frame_origins),
                sockets=sockets,
                index=index,
                readers=readers,
                reads=HeavyReads(),
                complete=CompleteLogs(complete, SessionIndex(complete)),
            )
        finally:
            await sockets.leave(0)
            await sockets.aclose()
            await readers.close()
            heartbeats.stop()


def create_app(services: Services, principal: Hook | None = None) -> ASGIApp:
    """The application. The caller opens and closes its services.

    `principal` is the authentication hook of an app around this one.
    """
    settings = services.settings
    knows_owners = principal is not None or settings.auth == "keys"
    app = Starlette(
        routes=starlette_routes(services, _authenticator(services, principal, knows_owners)),
        exception_handlers=exception_handlers,
    )
    # Around all of Starlette, whose handler of unexpected errors is outside its middleware.
    allowed = Allowed(
        hosts=settings.hosts_of(is_hooked=principal is not None),
        origins=settings.origins,
        headers=(*settings.allowed_headers, *settings.forwarded_headers),
        credentials=settings.allow_credentials,
        max_body=settings.max_body,
        rules=_body_rules(settings),
        takes_addresses=knows_owners,
        is_hooked=principal is not None,
    )
    responses = services.metrics.counter(
        "mobox_responses_total", "HTTP responses started.", ("method", "status")
    )
    return Guard(app, allowed, responses, AgentClients())


def _authenticator(services: Services, principal: Hook | None, knows_owners: bool) -> Authenticator:
    """Without authentication all clients are the same owner, with all scopes and no limits."""
    settings, storage = services.settings, services.storage
    if not knows_owners:
        local = Principal(OWNER, EVERY_SCOPE)
        connections = ConnectionRegistry(storage, None)
        return Authenticator(lambda _: local, connections, RateLimit(None), is_open=True)
    return Authenticator(
        principal or KeyAuthentication(storage),
        ConnectionRegistry(storage, settings.max_streams, store=storage),
        RateLimit(settings.max_runs_per_minute, store=storage),
    )


def _body_rules(settings: Settings) -> list[BodyRule]:
    """The routes whose bodies may be larger than others, or of any type."""
    rules = []
    for route in ROUTES:
        if (limit := route.limit) != "max_body":
            most, is_file = getattr(settings, limit), limit == "max_file"
            setting = limit.replace("_", "-")
            path = re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path))
            rules.append(BodyRule(route.method, path, setting, most, is_file))
    return rules
