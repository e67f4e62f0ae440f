"""capture -> parse -> log. Formatting and delivery read the log; they never touch the agent."""

from __future__ import annotations

from collections.abc import Iterable

from mobox.events import JSON, Done, LogEntry, StreamEvent
from mobox.lifecycle import Lifecycle
from mobox.parsers import get_parser

__all__ = ["Recorder"]


class Recorder:
    """Makes the log of one run: what a framework says, parsed, mended and numbered."""

    def __init__(self, framework: str) -> None:
        self._parser = get_parser(framework)
        self._lifecycle = Lifecycle(framework)
        self._seq = 0

    def feed(self, raws: Iterable[JSON], ts: int | None = None) -> list[LogEntry]:
        """The entries made by raw events that were read at `ts`, in milliseconds."""
        feed, mend = self._parser.feed, self._lifecycle.feed
        return self._number([e for raw in raws for event in feed(raw) for e in mend(event)], ts)

    def close(self, done: Done | None = None, ts: int | None = None) -> list[LogEntry]:
        """The entries that end the run; `done` overrules what the agent proposed."""
        mend = self._lifecycle.feed
        last = [e for event in self._parser.close() for e in mend(event)]
        return self._number(last + self._lifecycle.close(done), ts)

    def _number(self, events: list[StreamEvent], ts: int | None) -> list[LogEntry]:
        first = self._seq + 1
        self._seq += len(events)
        return [LogEntry(seq, seq, ts, event) for seq, event in enumerate(events, first)]
