"""Deletes old data: idle chats with their files, or only the raw lines of old runs.

With the chats it deletes the keys that were revoked or expired as long ago.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct

from mobox.errors import ChatNotFound
from mobox.settings import MODELS, now_ms
from mobox.storage import Storage
from mobox.storage.chats import IdleChat
from mobox.storage.log import RunId
from mobox.supervisor.agent_files import CassetteFiles, StateFolders, StderrFolder

REMEMBERED: Final = timedelta(weeks=4)
"""For how long a deleted run is reported as deleted instead of as not found."""
TOGETHER: Final = 256
"""Chats whose stderr is deleted at once: each deletion lists the whole folder."""
BREATH: Final = 0.02
"""Seconds between transactions, in which other processes may write."""


class Pruned(Struct, frozen=True):
    """How much was deleted, or would be."""

    chats: int = 0
    runs: int = 0
    raw_lines: int = 0
    keys: int = 0


async def prune(storage: Storage, data: Path, older_than: timedelta) -> Pruned:
    """Delete idle chats, one after the other, with their agents' state and stderr."""
    since = _before(older_than)
    await _forget(storage, _before(REMEMBERED))
    idle = await storage.idle_chats(since)
    gone: list[IdleChat] = []
    for start in range(0, len(idle), TOGETHER):
        gone += await _delete(storage, data, idle[start : start + TOGETHER], since)
    await storage.settle()
    await sweep_files(storage)
    return Pruned(len(gone), len(_runs_of(gone)), keys=await storage.forget_keys(since))


async def sweep_files(storage: Storage) -> None:
    """Delete files that no chat names any more, and what is left of failed uploads."""

    async def has_chat(owner: str, chat_id: str) -> bool:
        try:
            await storage.chat(owner, chat_id)
        except ChatNotFound:
            return False
        return True

    await storage.files.sweep(has_chat)


async def _delete(
    storage: Storage, data: Path, idle: Iterable[IdleChat], since: int
) -> list[IdleChat]:
    """Delete the chats that are still idle; also if interrupted, nothing of them is left."""
    states, stderr = StateFolders(data / "state"), StderrFolder(data / "logs")
    gone: list[IdleChat] = []

    async def delete(chat: IdleChat) -> None:
        if await storage.delete_idle(chat, since):
            gone.append(chat)
            await asyncio.to_thread(states.delete, chat.owner, chat.id)

    try:
        for chat in idle:
            deleting = asyncio.create_task(delete(chat))
            try:
                await asyncio.shield(deleting)
            finally:  # if cancelled: the transaction may have been committed already
                await asyncio.wait([deleting])
    finally:
        await asyncio.to_thread(stderr.delete, _runs_of(gone))
        await asyncio.to_thread(CassetteFiles(data / MODELS).delete, _runs_of(gone))
    return gone


async def prune_raw(storage: Storage, older_than: timedelta) -> Pruned:
    """Delete only the raw lines of runs that ended so long ago."""
    return Pruned(raw_lines=await storage.drop_raw(_before(older_than)))


async def count(storage: Storage, older_than: timedelta) -> Pruned:
    """How much `prune` and `prune_raw` would delete."""
    since = _before(older_than)
    idle = await storage.idle_chats(since)
    raw_lines = await storage.count_raw(since)
    keys = sum(key.ended(since) for key in await storage.keys())
    return Pruned(len(idle), len(_runs_of(idle)), raw_lines, keys)


def _runs_of(chats: Iterable[IdleChat]) -> list[RunId]:
    return [run for chat in chats for run in chat.runs]


async def _forget(storage: Storage, deleted_before: int) -> None:
    forgotten = True
    while forgotten:
        forgotten = bool(await storage.forget_deleted(deleted_before))
        await asyncio.sleep(BREATH)


def _before(age: timedelta) -> int:
    return now_ms() - round(age.total_seconds() * 1000)
