"""The state that a page had when it asked: what the agent patches, and what a page has back.

A page sends its state with every request, and may have changed it since the last one. So at each
request the state is the page's, and from there on what the agent makes of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mobox.events import JSON, LogEntry, State
from mobox.formatters import Formatter, joining
from mobox.formatters.pieces import LINE_END, split

__all__ = ["KnowingPages", "PageState"]


class PageState(NamedTuple):
    """A page's state, and the entry after which the agent was told of it."""

    after: int
    value: JSON


class KnowingPages:
    """A formatter that knows what state pages had; to them it says nothing of that."""

    def __init__(self, formatter: Formatter, states: Iterable[PageState]) -> None:
        self._formatter = formatter
        self._states = deque(states)
        self._seen = 0

    def format(self, entry: LogEntry) -> list[bytes]:
        """The documents that tell `entry`."""
        return split(self.format_joined((entry,), LINE_END))

    def format_joined(self, entries: Sequence[LogEntry], between: bytes) -> bytes:
        """The documents that tell `entries`, with `between` between each two."""
        format_entries, documents = joining(self._formatter), []
        while self._states and self._states[0].after < entries[-1].seq:
            done = sum(entry.seq <= self._states[0].after for entry in entries)
            documents.append(format_entries(entries[:done], between))
            entries = entries[done:]
            self._learn(self._states.popleft())
        self._seen = entries[-1].seq
        return between.join(filter(None, [*documents, format_entries(entries, between)]))

    def pause(self) -> list[bytes]:
        """The documents that end a response where the run waits for an answer."""
        return self._formatter.pause()

    def resume(self) -> list[bytes]:
        """The documents that begin a response in the middle."""
        while self._states and self._states[0].after <= self._seen:
            self._learn(self._states.popleft())
        return self._formatter.resume()

    def _learn(self, state: PageState) -> None:
        self._formatter.format(LogEntry(0, 0, None, State(mode="snapshot", value=state.value)))
