"""Notifications of commits between processes that share a store: the interface and its values.

Rule 1: a notification is a hint. The data is in the store, so a lost one is made up for by polling.
Rule 2: sending never blocks and never fails: it follows the commit, and must not delay a writer.
Rule 3: once per commit, not once per event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from mobox.storage.log import Position, RunId

__all__ = ["Notifier", "NotifierFactory", "RunNotice"]


class RunNotice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a commit changed."""

    positions: Mapping[RunId, Position] = {}
    """The new positions of these logs."""
    chats: tuple[str, ...] = ()
    """Chats in which a run was started, or that were deleted."""
    work: bool = False
    """There is a run to claim, or one with a stop request."""
    everything: bool = False
    """Too many changes to name, or some were missed: poll everything that has waiters."""


class Notifier(Protocol):
    """A notification channel to other processes."""

    @property
    def is_healthy(self) -> bool:
        """Whether notifications arrive; while they do not, readers poll."""

    def listen(self, on_notification: Callable[[RunNotice], None]) -> None:
        """Call this in the event loop for other processes' notifications, perhaps also our own."""

    def tell(self, notification: RunNotice) -> None:
        """Notify the other processes."""

    async def close(self) -> None:
        """Stop sending and receiving."""


NotifierFactory = Callable[[str], Notifier]
"""Creates the channel to all processes that opened the database with this identity."""
