"""Which run of a chat is meant."""

from __future__ import annotations

from mobox.errors import ChatNotFound, RunNotFound
from mobox.storage import Storage
from mobox.storage.log import Run

__all__ = ["active_run", "latest_run", "run_of_chat"]


async def run_of_chat(storage: Storage, owner: str, chat_id: str, run_id: str) -> Run:
    """The run of that id, if it is one of this chat."""
    run = await storage.run(owner, run_id)
    if run.chat_id != chat_id:
        raise RunNotFound(run_id)
    return run


async def latest_run(storage: Storage, owner: str, chat_id: str) -> Run | None:
    """The run that goes on or waits, else the last one; a page may ask before its chat is."""
    try:
        runs = await storage.runs(owner, chat_id)
    except ChatNotFound:
        return None
    live = [run for run in runs if not run.superseded]
    active = [run for run in live if run.status != "done"]
    found = active or live
    return found[-1] if found else None


async def active_run(storage: Storage, owner: str, chat_id: str) -> Run | None:
    """The run that goes on or waits, if any does."""
    run = await latest_run(storage, owner, chat_id)
    return run if run is not None and run.status != "done" else None
