"""What can go wrong with a cluster, one thing at a time, and how it is set right again.

A fault lasts as long as somebody may notice it; it is over when the cluster is whole, and the runs
of a process that was killed or asleep have been ended by others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from server.audit import held_by, lost_of
from server.cluster import LEASE, Cluster, Member
from server.live_server import LIMIT
from support.postgres_server import PostgresServer
from support.waiting import until_async


class Dose(NamedTuple):
    """How long things are away, in seconds."""

    moment: float
    away: float


class Scene(NamedTuple):
    """What there is to break."""

    cluster: Cluster
    postgres: PostgresServer
    dose: Dose


Fault = Callable[[Scene], Coroutine[Any, Any, None]]


async def kill_worker(scene: Scene) -> None:
    worker = scene.cluster.worker
    victim = worker.incarnation
    await worker.kill()
    await worker.start()
    await _are_ended(scene.cluster, victim)


async def freeze_worker(scene: Scene) -> None:
    """Until others have ended all that it had; then it goes on as though nothing had been."""
    worker = scene.cluster.worker
    worker.freeze()
    held = await held_by(scene.cluster.url, worker.incarnation)
    await _are_ended(scene.cluster, worker.incarnation)
    # A run is taken over first, and its end is appended then.
    await until_async(lambda: lost_of(scene.cluster.url, held), 2 * LIMIT, 0.1)
    lost = await lost_of(scene.cluster.url, held)
    worker.thaw()
    await until_async(lambda: _has_noticed(worker, lost), 2 * LIMIT, 0.1)


async def _has_noticed(worker: Member, lost: set[str]) -> bool:
    """Whether it has tried to go on with its runs, and was told that it cannot."""
    return all(f"run {run_id}: lost its lease" in worker.log for run_id in lost)


async def _are_ended(cluster: Cluster, process: str) -> None:
    async def nothing_is_left() -> bool:
        return not await held_by(cluster.url, process)

    await until_async(nothing_is_left, 2 * LIMIT, 0.1)


def kill_server(member: Callable[[Cluster], Member]) -> Fault:
    async def fault(scene: Scene) -> None:
        server = member(scene.cluster)
        await server.kill()
        await asyncio.sleep(scene.dose.moment)
        await server.start()

    return fault


def freeze_server(member: Callable[[Cluster], Member]) -> Fault:
    async def fault(scene: Scene) -> None:
        server = member(scene.cluster)
        server.freeze()
        await asyncio.sleep(LEASE + 1)
        server.thaw()

    return fault


async def kill_valkey(scene: Scene) -> None:
    valkey = scene.cluster.valkey
    await asyncio.to_thread(valkey.kill)
    await asyncio.sleep(scene.dose.moment)
    await asyncio.to_thread(valkey.recover)


async def hang_valkey(scene: Scene) -> None:
    valkey = scene.cluster.valkey
    await asyncio.to_thread(valkey.sleep, scene.dose.away)
    await asyncio.to_thread(valkey.wake)


async def stop_postgres(scene: Scene) -> None:
    await asyncio.to_thread(scene.postgres.stop)
    await asyncio.sleep(scene.dose.away)
    await asyncio.to_thread(scene.postgres.start)


async def kill_postgres(scene: Scene) -> None:
    await asyncio.to_thread(scene.postgres.kill)
    await asyncio.to_thread(scene.postgres.start)


FAULTS: dict[str, Fault] = {
    "the worker is killed": kill_worker,
    "the worker is asleep": freeze_worker,
    "one server is killed": kill_server(lambda cluster: cluster.one),
    "one server is asleep": freeze_server(lambda cluster: cluster.one),
    "the other server is killed": kill_server(lambda cluster: cluster.two),
    "the other server is asleep": freeze_server(lambda cluster: cluster.two),
    "Valkey is killed": kill_valkey,
    "Valkey hangs": hang_valkey,
    "PostgreSQL is stopped": stop_postgres,
    "PostgreSQL is killed": kill_postgres,
}
