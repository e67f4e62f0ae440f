"""Runs of the workload in a store, written as the server writes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from bench import workload
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.settings import OWNER, Settings
from mobox.storage import Storage, open_storage
from mobox.storage.log import Run
from mobox.supervisor.run_writer import RunWriter

__all__ = ["fill", "fill_database"]


def fill(data: Path, runs: int, lines: Sequence[bytes], size: int) -> list[Run]:
    """Runs in chats of their own, all of the same lines, `size` of them at each read."""
    return fill_database(Settings(data=data).database, runs, lines, size)


def fill_database(url: str, runs: int, lines: Sequence[bytes], size: int) -> list[Run]:
    """The same in any database."""
    return asyncio.run(_fill(url, runs, workload.reads(lines, size)))


async def _fill(url: str, runs: int, reads: Sequence[bytes]) -> list[Run]:
    storage = await open_storage(url)
    try:
        writing = (_write(storage, f"{len(reads)}-{n}", reads) for n in range(runs))
        return await asyncio.gather(*writing)
    finally:
        await storage.close()


async def _write(storage: Storage, chat_id: str, reads: Sequence[bytes]) -> Run:
    message = UserMessage(id=f"ask-{chat_id}", parts=(PromptText(text="Go on."),))
    request = Request(chat_id=chat_id, action=Action.SUBMIT, message=message)
    begun = await storage.begin_turn(OWNER, request, "bench", "claude")
    scribe = await RunWriter.take_up(storage, begun.run)
    scribe.listen()
    for data in reads:
        await scribe.read(data)
    await scribe.finish_reading()
    await scribe.end(None)
    return begun.run
