"""The last entries of a log that is being written, in memory, and the readers waiting for more.

Rule 1: only committed entries get here.
Rule 2: a reader waits for a number to be passed, never for an event to happen: a late one sees the
        number and does not wait, so no wake-up can be lost.
Rule 3: a wake-up is a hint; the entries are read from the tail or the database.
Rule 4: all of it belongs to the event loop's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mobox.events import LogEntry
from mobox.storage.log import Position
from mobox.storage.waiters import Waiters

__all__ = ["Tail", "Watch"]

_ENTRIES = 256
_BYTES = 256 * 1024


class Tail:
    """The last entries of a log, without a gap between them."""

    def __init__(self) -> None:
        self._batches: deque[tuple[tuple[LogEntry, ...], int]] = deque()
        self._entries = 0
        self._bytes = 0

    def add(self, entries: Sequence[LogEntry], size: int) -> None:
        """Add appended entries, `size` bytes of JSON, and drop the oldest."""
        if self._batches and self._batches[-1][0][-1].seq + 1 != entries[0].seq:
            self.clear()  # another process wrote in between
        self._batches.append((tuple(entries), size))  # the writer may reuse its list
        self._entries += len(entries)
        self._bytes += size
        while self._batches and (self._entries > _ENTRIES or self._bytes > _BYTES):
            gone, size = self._batches.popleft()
            self._entries -= len(gone)
            self._bytes -= size

    @property
    def is_empty(self) -> bool:
        return not self._batches

    def clear(self) -> None:
        self._batches.clear()
        self._entries = self._bytes = 0

    def after(self, seq: int, limit: int) -> list[LogEntry]:
        """The entries after `seq`; nothing if they are not in memory."""
        if not self._batches or seq + 1 < self._batches[0][0][0].seq:
            return []
        newest = self._batches[-1][0]
        if newest[0].seq == seq + 1:  # where nearly all readers are
            return list(newest[:limit])
        found: deque[tuple[LogEntry, ...]] = deque()
        for entries, _ in reversed(self._batches):  # readers are mostly close to the end
            if entries[-1].seq <= seq:
                break
            found.appendleft(entries)
        if found:
            found[0] = found[0][max(0, seq + 1 - found[0][0].seq) :]
        return [entry for entries in found for entry in entries][:limit]


class Watch(Waiters):
    """The known position of one log, and the readers waiting for more."""

    def __init__(self) -> None:
        super().__init__()
        self.position: Position | None = None
        self.gone = False
        self.readers = 0
        self.tail = Tail()

    def advance(self, position: Position) -> None:
        """The log is at least this long. Late notifications change nothing."""
        if self.position is None or position.tail > self.position.tail:
            self.position = position
            self._wake()

    def vanish(self) -> None:
        """The log was deleted."""
        self.gone = True
        self.tail.clear()
        self._wake()
