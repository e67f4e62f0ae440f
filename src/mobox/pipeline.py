"""capture -> parse -> log, without a store: what converting, demos and tests go through."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from mobox.capture.jsonlines import END, JsonLines
from mobox.events import JSON, Done, LogEntry, StreamEvent
from mobox.lifecycle import Lifecycle
from mobox.parsers import get_parser
from mobox.unread import UnreadLines

__all__ = ["Recorder"]


class Recorder:
    """Makes the log of one run: what a framework says, parsed, mended and numbered."""

    def __init__(self, framework: str) -> None:
        self._lines = JsonLines()
        self._parser = get_parser(framework)
        self._lifecycle = Lifecycle(framework)
        self._unread = UnreadLines(framework)
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
                return self._take([event], ts)
        return self._take(self._parser.feed_lines(self._lines.split(data)), ts)

    def feed(self, raws: Iterable[JSON], ts: int | None = None) -> list[LogEntry]:
        """The entries made by raw events that are JSON values already."""
        feed = self._parser.feed
        return self._take([event for raw in raws for event in feed(raw)], ts)

    def close(self, done: Done | None = None, ts: int | None = None) -> list[LogEntry]:
        """The entries that end the run; `done` overrules what the agent proposed.

        Without it, a run of which nothing was understood ends with an error.
        """
        entries = self._take(self._parser.feed_lines(self._lines.split(END)), ts)
        last = self._parser.close()
        self._unread.see(last)
        entries += self._number(self._lifecycle.feed_last(last), ts)
        if done is None:
            entries += self._number(self._lifecycle.pause_again(at_end=True), ts)
        if done is None and (error := self._unread.error()) is not None:
            entries += self._number(self._lifecycle.feed(error), ts)
            done = Done(reason="error")
        return entries + self._number(self._lifecycle.close(done), ts)

    def _take(self, events: list[StreamEvent], ts: int | None) -> list[LogEntry]:
        if not self._unread.understood:
            self._unread.see(events)
        return self._number(self._lifecycle.feed_all(events), ts)

    def _number(self, events: list[StreamEvent], ts: int | None) -> list[LogEntry]:
        if len(events) == 1:
            self._seq = seq = self._seq + 1
            return [LogEntry(seq, seq, ts, events[0])]
        numbers = range(self._seq + 1, self._seq + 1 + len(events))
        self._seq += len(events)
        return list(map(LogEntry, numbers, numbers, repeat(ts), events))
