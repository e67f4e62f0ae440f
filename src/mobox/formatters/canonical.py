"""The log itself: each entry is one document, `{"seq", "id", "ts", "event"}`, as it is stored.

It has everything that the other protocols leave out; docs/events.md explains the events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from mobox.errors import UnknownProfile
from mobox.events import LogEntry, encode


class CanonicalFormatter:
    """Writes the entries of one run."""

    PROFILES: ClassVar[tuple[str, ...]] = ("entries",)

    def __init__(self, message_id: str, profile: str = PROFILES[0]) -> None:
        if profile not in self.PROFILES:
            raise UnknownProfile(profile, self.PROFILES)

    def format(self, entry: LogEntry) -> list[bytes]:
        """The entry."""
        return [encode(entry)]

    def format_joined(self, entries: Iterable[LogEntry], between: bytes) -> bytes:
        """The entries of one read, with `between` between each two."""
        return between.join(map(encode, entries))

    def pause(self) -> list[bytes]:
        """Nothing: PAUSED was an entry."""
        return []

    def resume(self) -> list[bytes]:
        """Nothing: entries have their numbers in them."""
        return []
