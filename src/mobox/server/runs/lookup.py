"""Finds the run of a chat that a request refers to."""

from __future__ import annotations

from collections.abc import Sequence

from mobox.errors import ChatNotFound, RunNotFound
from mobox.storage import Storage
from mobox.storage.log import Run


async def run_of_chat(storage: Storage, owner: str, chat_id: str, run_id: str) -> Run:
    """The run of that id, if it is one of this chat."""
    run = await storage.run(owner, run_id)
    if run.chat_id != chat_id:
        raise RunNotFound(run_id)
    return run


async def runs_so_far(storage: Storage, owner: str, chat_id: str) -> list[Run]:
    """All runs of a chat; none if it does not exist yet, as pages may request it before."""
    try:
        return await storage.runs(owner, chat_id)
    except ChatNotFound:
        return []


async def latest_run(storage: Storage, owner: str, chat_id: str) -> Run | None:
    """The active run, else the last one."""
    runs = await runs_so_far(storage, owner, chat_id)
    live = [run for run in runs if not run.superseded]
    return active_of(runs) or (live[-1] if live else None)


async def active_run(storage: Storage, owner: str, chat_id: str) -> Run | None:
    """The run that is running or waiting, if there is one."""
    return active_of(await runs_so_far(storage, owner, chat_id))


def active_of(runs: Sequence[Run]) -> Run | None:
    """The running one of a chat's runs, else the last waiting one, in the order of the store."""
    active = [run for run in runs if not run.superseded and run.status != "done"]
    running = [run for run in active if run.status == "running"]
    return (running or active)[-1] if active else None
