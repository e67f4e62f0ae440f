"""The state of a page at its request: what the agent patches, and what the page gets back.

A page sends its state with every request, and may have changed it since the last one. So each
request sets the state to the page's, and the agent's changes apply to that.
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
    """A page's state, and the entry after which the agent received it."""

    after: int
    value: JSON


class KnowingPages:
    """Wraps a formatter and applies the states of pages, without sending them."""

    def __init__(self, formatter: Formatter, states: Iterable[PageState]) -> None:
        self._formatter = formatter
        self._states = deque(states)
        self._seen = 0

    def format(self, entry: LogEntry) -> list[bytes]:
        """The documents of `entry`."""
        return split(self.format_joined((entry,), LINE_END))

    def format_joined(self, entries: Sequence[LogEntry], between: bytes) -> bytes:
        """The documents of `entries`, with `between` between each two."""
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
        """The documents that start a response in the middle."""
        while self._states and self._states[0].after <= self._seen:
            self._learn(self._states.popleft())
        return self._formatter.resume()

    def _learn(self, state: PageState) -> None:
        self._formatter.format(LogEntry(0, 0, None, State(mode="snapshot", value=state.value)))
