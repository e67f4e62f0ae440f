"""What servers and workers open alike: the store, the agents and the supervisor."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from mobox.catalog import Catalog
from mobox.errors import DatabaseTooNew, InvalidSetting, StorageError
from mobox.server.metrics import Registry
from mobox.server.settings import Settings
from mobox.storage import Settings as StoreSettings
from mobox.storage import Storage, open_storage
from mobox.supervisor import Limits, Supervisor

__all__ = ["metrics_of", "open_supervisor"]

log = logging.getLogger("mobox.server")

_WHERE_TO_STORE: Final = "set the database with database_url, --database-url or DATABASE_URL"


@asynccontextmanager
async def open_supervisor(
    settings: Settings, catalog: Catalog | None = None
) -> AsyncIterator[tuple[Storage, Supervisor]]:
    """Open the store and the supervisor; on exit stop the agents and close both."""
    if settings.execute != "here":
        settings.check_shared("execute")
    _make_folder(settings.data)
    if catalog is None:
        catalog = _load_agents(settings)
    if settings.execute == "here":
        _warn_of_missing_variables(catalog)
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
