"""A process that kills itself at the n-th call of its store, while it carries out one request.

    python dying_supervisor.py URL FOLDER EXECUTE ACTION CALL WHEN

It prints `acknowledged` when the request was carried out before that, and kills itself then.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mobox.capture.catalog import Catalog, load_agent
from mobox.events.turn import Action, Answer, Cut, Place, PromptText, Request, UserMessage
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.supervisor import Supervisor


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingStorage:
    """The store, of which one call is the process's last."""

    def __init__(self, storage: Any, last: int, when: str) -> None:
        self._storage = storage
        self._last = last
        self._when = when
        self._calls: int | None = None  # nothing is counted yet

    def begin_to_count(self) -> None:
        self._calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._storage, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*arguments: Any, **named: Any) -> Any:
            if self._calls is None:
                return await found(*arguments, **named)
            self._calls += 1
            is_last = self._calls == self._last
            if is_last and self._when == "before":
                die()
            result = await found(*arguments, **named)
            if is_last:
                die()
            return result

        return call


def message(text: str, id_: str, action: Action = Action.SUBMIT, cut: Cut | None = None) -> Request:
    sent = UserMessage(id=id_, parts=(PromptText(text=text),))
    return Request(chat_id="chat", action=action, message=sent, cut=cut, idempotency_key=id_)


HELLO = message("hello", "m1")
EDITED = message("hello again", "m2", Action.EDIT, Cut(Place.BEFORE, "m1"))


async def begin(supervisor: Supervisor, run_id: str) -> None:
    await supervisor.begin("ann", HELLO)


async def answer(supervisor: Supervisor, run_id: str) -> None:
    await supervisor.answer("ann", run_id, (Answer(decision="approved", request_id="r1"),))


async def stop(supervisor: Supervisor, run_id: str) -> None:
    await supervisor.stop("ann", run_id)


async def edit(supervisor: Supervisor, run_id: str) -> None:
    await supervisor.begin("ann", EDITED)


ACTIONS: dict[str, Callable[[Supervisor, str], Awaitable[None]]] = {
    "begin": begin,
    "answer": answer,
    "stop": stop,
    "edit": edit,
}


async def main(url: str, folder: Path, execute: str, action: str, call: int, when: str) -> None:
    # Nothing else uses the store meanwhile, so that the calls are the same each time.
    settings = Settings(
        look=3600, sweep=3600, sweep_files=3600, notice=3600, sandbox="process", lease=1
    )
    settings = replace(settings, execute=execute)
    storage = await open_storage(url, settings)
    dying: Any = DyingStorage(storage, call, when)
    catalog = Catalog([load_agent(folder / "asker")])
    async with Supervisor(dying, catalog, folder, settings=settings) as supervisor:
        await asyncio.sleep(0)  # its sweeps have started
        runs = await storage.runs("ann", "chat") if action != "begin" else []
        dying.begin_to_count()
        await ACTIONS[action](supervisor, runs[-1].id if runs else "")
        print("acknowledged", flush=True)
        die()


if __name__ == "__main__":
    url, folder, execute, action, call, when = sys.argv[1:]
    asyncio.run(main(url, Path(folder), execute, action, int(call), when))
