"""How processes that share a store tell each other that something was committed.

Rule 1: news is a hint. All of it is in the store, so what gets lost is found by looking there.
Rule 2: telling never waits and never fails: it comes after the commit, and a writer has no time.
Rule 3: once per commit, not once per event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from mobox.storage.log import Position, RunId

__all__ = ["News", "WakeUps", "WayToOthers"]


class News(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a commit has changed."""

    positions: Mapping[RunId, Position] = {}
    """How far these logs have come."""
    chats: tuple[str, ...] = ()
    """Chats where a run was begun, or that were deleted."""
    work: bool = False
    """Somebody is to look around: a run is there to be claimed, or is asked to stop."""
    everything: bool = False
    """More than can be told, or was heard: whatever is waited for is to be looked at."""


class WakeUps(Protocol):
    """A way to other processes."""

    @property
    def is_healthy(self) -> bool:
        """Whether news gets through; where it does not, readers look for themselves."""

    def listen(self, on_news: Callable[[News], None]) -> None:
        """Call this in the event loop for whatever others tell, and maybe for what we do."""

    def tell(self, news: News) -> None:
        """Tell the others."""

    async def close(self) -> None:
        """Say no more, and listen no more."""


WayToOthers = Callable[[str], WakeUps]
"""Makes the way to all who have opened the database with this identity."""
