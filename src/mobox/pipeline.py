"""capture -> parse -> log, without a store: what converting, demos and tests go through."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from mobox.capture.jsonlines import END, JsonLines
from mobox.events import JSON, Done, LogEntry, StreamEvent
from mobox.lifecycle import Lifecycle
from mobox.parsers import get_parser

__all__ = ["Recorder"]


class Recorder:
    """Makes the log of one run: what a framework says, parsed, mended and numbered."""

    def __init__(self, framework: str) -> None:
        self._lines = JsonLines()
        self._parser = get_parser(framework)
        self._lifecycle = Lifecycle(framework)
        self._seq = 0

    def read(self, data: bytes, ts: int | None = None) -> list[LogEntry]:
        """The entries made by what an agent wrote, read at `ts` in milliseconds: lines or SSE."""
        # Most reads are one line that says more of an open block. Such a line is what `split` would
        # make of it, but for the white space at its end, which is nothing to a parser.
        if data.find(b"\n") + 1 == len(data) <= self._lines.longest:
            event = self._parser.more(data)
            if event is not None:
                if self._lifecycle.lets_pass(event):
                    self._seq = seq = self._seq + 1
                    return [LogEntry(seq, seq, ts, event)]
                return self._number(self._lifecycle.feed(event), ts)
        items = self._lines.split(data)
        return self._number(self._lifecycle.feed_all(self._parser.feed_lines(items)), ts)

    def feed(self, raws: Iterable[JSON], ts: int | None = None) -> list[LogEntry]:
        """The entries made by raw events that are JSON values already."""
        feed = self._parser.feed
        events = self._lifecycle.feed_all([event for raw in raws for event in feed(raw)])
        return self._number(events, ts)

    def close(self, done: Done | None = None, ts: int | None = None) -> list[LogEntry]:
        """The entries that end the run; `done` overrules what the agent proposed."""
        last = [*self._parser.feed_lines(self._lines.split(END)), *self._parser.close()]
        events = self._lifecycle.feed_all(last)
        events += self._lifecycle.pause_again(at_end=True) if done is None else []
        return self._number(events + self._lifecycle.close(done), ts)

    def _number(self, events: list[StreamEvent], ts: int | None) -> list[LogEntry]:
        if len(events) == 1:
            self._seq = seq = self._seq + 1
            return [LogEntry(seq, seq, ts, events[0])]
        numbers = range(self._seq + 1, self._seq + 1 + len(events))
        self._seq += len(events)
        return list(map(LogEntry, numbers, numbers, repeat(ts), events))
