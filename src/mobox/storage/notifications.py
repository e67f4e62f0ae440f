"""Notifications of commits between processes that share a store.

Rule 1: a notification is a hint. The data is in the store, so a lost one is made up for by polling.
Rule 2: sending never blocks and never fails: it follows the commit, and must not delay a writer.
Rule 3: once per commit, not once per event. While notifications cannot be sent they are merged: of
        each log only the latest position is sent, of each chat only that it changed. If that is too
        much, one flag is sent instead: poll everything.
Rule 4: others can publish on a channel. Invalid messages are ignored.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from mobox.storage.log import Position, RunId

MOST_BYTES: Final = 256 * 1024
"""The maximum size of a message; a longer one is not ours."""
_MOST_NAMES: Final = 2000


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

    def notify(self, notification: RunNotice) -> None:
        """Notify the other processes."""

    async def close(self) -> None:
        """Stop sending and receiving."""


NotifierFactory = Callable[[str], Notifier]
"""Creates the channel to all processes that opened the database with this identity."""

# Messages on a channel


class Notification(Struct, frozen=True):
    """A notification with its sender: a process ignores its own."""

    sender: str
    news: RunNotice


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Notification)


def write_notification(envelope: Notification, most_bytes: int = MOST_BYTES) -> bytes:
    data = _encode(envelope)
    if len(data) > most_bytes:  # a chat's id is chosen by its client, and may have any length
        data = _encode(
            Notification(envelope.sender, RunNotice(everything=True, work=envelope.news.work))
        )
    return data


def read_notification(data: bytes) -> Notification | None:
    """The decoded notification; nothing if it is invalid."""
    if len(data) > MOST_BYTES:
        return None
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Outbox:
    """Pending notifications, merged into one of bounded size."""

    def __init__(self, most_names: int = _MOST_NAMES) -> None:
        self._most_names = most_names
        self._positions: dict[RunId, Position] = {}
        self._chats: dict[str, None] = {}  # a set that keeps its order
        self._work = False
        self._everything = False

    def __bool__(self) -> bool:
        return bool(self._positions or self._chats or self._work or self._everything)

    def add(self, notification: RunNotice) -> None:
        """Merge a notification; a late or repeated one changes nothing."""
        self._work |= notification.work
        self._everything |= notification.everything
        for run_id, position in notification.positions.items():
            known = self._positions.get(run_id)
            if known is None or known.tail < position.tail:
                self._positions[run_id] = position
        self._chats |= dict.fromkeys(notification.chats)
        if self._everything or len(self._positions) + len(self._chats) > self._most_names:
            self._everything = True
            self._positions, self._chats = {}, {}

    def take(self) -> RunNotice:
        """Remove and return the merged notification; the caller has to send it."""
        notification = RunNotice(
            positions=self._positions,
            chats=tuple(self._chats),
            work=self._work,
            everything=self._everything,
        )
        self._positions, self._chats = {}, {}
        self._work = self._everything = False
        return notification


class Channel:
    """What the notifiers have in common: pending notifications, and the callback for others'."""

    def __init__(self) -> None:
        self._name = secrets.token_hex(8)
        self._outbox = Outbox()
        self._has_pending = asyncio.Event()
        self._is_closing = False
        self._on_notification: Callable[[RunNotice], None] = lambda notification: None

    def notify(self, notification: RunNotice) -> None:
        self._outbox.add(notification)
        self._has_pending.set()

    def _receive(self, data: bytes) -> None:
        envelope = read_notification(data)
        if envelope is not None and envelope.sender != self._name:
            self._on_notification(envelope.news)

    def _catch_up(self) -> None:
        """Notifications may be missing: there was no connection until now."""
        self._on_notification(RunNotice(everything=True, work=True))
