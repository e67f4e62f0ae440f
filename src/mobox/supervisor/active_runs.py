"""What becomes of a message that comes while its chat has a running run.

Rule 1: a run that is being ended, or whose process has died, is not in the way: the message waits
        for its end. Nor is one that ends while a client of it might still leave.
Rule 2: a message that the run answers already joins it. One that could not be stored anyway is
        rejected, and stops nothing.
Rule 3: else the policy decides: `interrupt` stops the run, `reject` refuses the message.
Rule 4: `auto` interrupts a run that its clients have left: at least one has disconnected by itself,
        and no process has another reader. Whatever is unknown counts as read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple

from mobox.errors import NotFoundError
from mobox.events.turn import Action, HistoryMessage, Request, UserMessage, WhenRunning
from mobox.settings import Settings
from mobox.storage import Storage
from mobox.storage.log import Run, RunId
from mobox.storage.turns import plan_turn
from mobox.supervisor.attempts import Attempts
from mobox.supervisor.recovery import ends_remotely
from mobox.supervisor.states import LEAVING

_POLL: Final = 0.05
_POLL_LEASE: Final = 0.25
"""Seconds between two looks at a run's readers, and at its lease."""


class Actions(NamedTuple):
    """What the supervisor does for this module."""

    stop: Callable[[str, str], Awaitable[Run]]
    reap: Callable[[], Awaitable[None]]


class ActiveRuns:
    """Clears the way for new messages."""

    def __init__(
        self, storage: Storage, attempts: Attempts, settings: Settings, actions: Actions
    ) -> None:
        self._storage = storage
        self._attempts = attempts
        self._settings = settings
        self._do = actions

    async def answering(self, owner: str, request: Request, run_id: RunId) -> Run | None:
        """The run, if it answers this very message; raises for one that cannot be stored."""
        history = await self._storage.history(owner, request.chat_id)
        if history.active is None or history.active.id != run_id:
            return None
        last = history.messages[-1].body if history.messages else None
        if request.action is Action.SUBMIT and isinstance(last, UserMessage):
            message = request.message
            if message and (message.id, message.parts) == (last.id, last.parts):
                return history.active
        live = [HistoryMessage(id=each.id, role=each.role) for each in history.messages]
        if history.before is None:  # else the message that it goes back to may be left out here
            plan_turn([*live, HistoryMessage(id=run_id, role="assistant")], request)
        return None

    async def clear(self, owner: str, run_id: RunId, policy: WhenRunning | None) -> bool:
        """Wait until the run is out of the way; false if the message has to be rejected."""
        if await self.wait_until_ended(owner, run_id):
            return True
        await self._do.reap()  # its process may have died
        run = await self._storage.run(owner, run_id)
        if run.status != "running":
            return True
        if not await self._interrupts(run, policy or self._settings.when_running):
            return await self._dies(run) or not await self._is_running(run)
        await self._do.stop(owner, run_id)
        return await self.wait_until_ended(owner, run_id) or not await self._is_running(run)

    async def wait_until_ended(self, owner: str, run_id: RunId) -> bool:
        """Wait until a run that is being ended has ended; false if it is not being ended."""
        attempt = self._attempts.last(run_id)
        if attempt is None:
            return await ends_remotely(self._storage, owner, run_id, self._settings.exit_grace)
        is_leaving = attempt.state in LEAVING
        if is_leaving:
            await self._attempts.wait_for_end(attempt)
        return is_leaving

    async def _interrupts(self, run: Run, policy: WhenRunning) -> bool:
        return await self._is_left(run) if policy == "auto" else policy == "interrupt"

    async def _is_left(self, run: Run) -> bool:
        """Whether its clients have left it.

        A client that stops reading and sends at once does both on connections of their own: the
        server may notice the end of the first after the message on the second.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._settings.grace
        while await self._storage.readers(run.id) != {"left"}:
            if clock() > deadline or not await self._is_running(run):
                return False
            await asyncio.sleep(_POLL)
        return True

    async def _is_running(self, run: Run) -> bool:
        """Whether the run has not ended by itself meanwhile, nor was deleted."""
        with suppress(NotFoundError):
            return (await self._storage.run(run.owner, run.id)).status == "running"
        return False

    async def _dies(self, run: Run) -> bool:
        """Whether the run of another process ends because that process has died.

        If it is not known whether the process lives, the next renewal of its lease shows it.
        """
        owner = run.lease_owner
        if owner is None or run.id in self._attempts or await self._storage.is_running(owner):
            return False
        clock = asyncio.get_running_loop().time
        deadline = clock() + 2 * self._settings.lease
        while (now := await self._storage.run(run.owner, run.id)).status == "running":
            is_renewed = now.epoch == run.epoch and now.lease_until != run.lease_until
            is_queued_again = now.requeued > run.requeued
            if is_renewed or is_queued_again or clock() > deadline:
                return False
            await asyncio.sleep(_POLL_LEASE)
            await self._do.reap()
        return True
