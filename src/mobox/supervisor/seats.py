"""How many agents may work at a time, and who has to go when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NamedTuple

from msgspec import Struct

from mobox import defaults
from mobox.errors import TooManyRuns
from mobox.storage.chats import Chats
from mobox.supervisor.leg import Leg

__all__ = ["Limits", "Seat", "Seats"]


class Limits(Struct, frozen=True, kw_only=True):
    """What a supervisor allows, in seconds and runs."""

    runs: int = defaults.RUNS
    """At the same time; 0 executes none: each waits in the store for who claims it."""
    runs_per_owner: int = defaults.RUNS_PER_OWNER
    hold: float = defaults.HOLD_SECONDS
    """How long a process is kept that waits for an answer."""
    notice: float = 1
    """How long an agent may take to start until people are told of it."""
    quiet: float = 1
    """After how long without output an agent with an open request counts as waiting."""
    sweep: float = 4
    """How often runs are looked for that nobody writes any more. Their end is promised within 5 s
    of the lease's: to write it takes some time too."""
    look: float = 1
    """How often is looked for what other processes want, runs to execute or to stop, where nobody
    tells of it."""
    drain: float = 8
    """How long agents have when the server ends."""


class Seat(NamedTuple):
    """A run's place; the same name is the same place, so that a request may come twice."""

    owner: str
    name: object


class Seats:
    """The places that are taken: by legs, and by those that are about to begin."""

    def __init__(self, limits: Limits, chats: Chats) -> None:
        self._limits = limits
        self._chats = chats
        self._legs: dict[Leg, Seat] = {}
        self._coming: Counter[Seat] = Counter()

    @asynccontextmanager
    async def offer(self, owner: str, chat_id: str, name: object) -> AsyncIterator[Seat | None]:
        """A place for what is about to begin, none where others execute; raises `TooManyRuns`."""
        if self._limits.runs:
            with self._take(owner, name) as seat:
                yield seat
        else:
            busy = await self._chats.busy_chats(owner)
            with self._leave_to_others(Seat(owner, chat_id), busy):
                yield None

    @contextmanager
    def _leave_to_others(self, seat: Seat, busy: Collection[str]) -> Iterator[None]:
        """Of a chat one run goes on: who asks for it again, or for the next, takes none away."""
        others = {seat.name for seat in self._held(seat.owner)}.union(busy) - {seat.name}
        if len(others) >= self._limits.runs_per_owner:
            raise TooManyRuns(len(others))
        with self._is_coming(seat):
            yield

    @contextmanager
    def _take(self, owner: str, name: object) -> Iterator[Seat]:
        seat = Seat(owner, name)
        if seat not in self._taken():
            for whose, limit in self._limits_of(owner):
                self._make_room(whose, limit)
        with self._is_coming(seat):
            yield seat

    @contextmanager
    def _is_coming(self, seat: Seat) -> Iterator[None]:
        self._coming[seat] += 1
        try:
            yield
        finally:
            self._coming -= Counter([seat])

    def squeeze_in(self, owner: str, name: object) -> Seat:
        """A place for what is ours already, also where there was none left for it."""
        for whose, limit in self._limits_of(owner):
            with suppress(TooManyRuns):
                self._make_room(whose, limit)
        return Seat(owner, name)

    def has_room(self) -> bool:
        """Whether another may begin, maybe in the place of one that only waits."""
        return len(self._taken()) < self._limits.runs or any(self._waiting())

    def full_owners(self) -> set[str]:
        """Those who have as many as one may have, and none that only waits."""
        limit = self._limits.runs_per_owner
        counts = Counter(seat.owner for seat in self._taken())
        full = {owner for owner, count in counts.items() if count >= limit}
        return full.difference(leg.run.owner for leg in self._waiting())

    def sit(self, leg: Leg, seat: Seat) -> None:
        """It has begun."""
        self._legs[leg] = seat

    def leave(self, leg: Leg) -> None:
        """It has ended."""
        del self._legs[leg]

    def _taken(self) -> set[Seat]:
        return {seat for leg, seat in self._legs.items() if not leg.leaving} | self._coming.keys()

    def _limits_of(self, owner: str) -> list[tuple[str | None, int]]:
        """Their own comes first: what they give up is room for all, and others lose nothing."""
        return [(owner, self._limits.runs_per_owner), (None, self._limits.runs)]

    def _make_room(self, owner: str | None, limit: int) -> None:
        """Where there is none, the process goes that has been there longest of those that wait."""
        held = self._held(owner)
        if len(held) < limit:
            return
        leg = next((leg for leg in self._waiting() if owner in (None, leg.run.owner)), None)
        if leg is None:
            raise TooManyRuns(len(held))
        leg.interrupt()

    def _held(self, owner: str | None) -> set[Seat]:
        return {seat for seat in self._taken() if owner in (None, seat.owner)}

    def _waiting(self) -> Iterator[Leg]:
        return (leg for leg in self._legs if leg.waits)
