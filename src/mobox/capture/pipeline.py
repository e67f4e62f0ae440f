"""capture -> parse -> log, without a store: for conversion, demos and tests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from mobox.capture.jsonlines import END, JsonLines
from mobox.events import JSON, Done, LogEntry, StreamEvent
from mobox.lifecycle import Lifecycle
from mobox.parsers import get_parser
from mobox.parsers.detection import UnreadLines


class Recorder:
    """Builds the log of one run: parses agent output, repairs event order, numbers the entries."""

    def __init__(self, framework: str) -> None:
        self._lines = JsonLines()
        self._parser = get_parser(framework)
        self._lifecycle = Lifecycle(framework)
        self._unread = UnreadLines(framework)
        self._seq = 0

    def read(self, data: bytes, ts: int | None = None) -> list[LogEntry]:
        """The entries for an agent's output, lines or SSE, read at `ts` in milliseconds."""
        # Most reads are one line with a delta of an open block. `split` would only remove the white
        # space at its end, which parsers ignore.
        if data.find(b"\n") + 1 == len(data) <= self._lines.longest:
            event = self._parser.more(data)
            if event is not None:
                if self._lifecycle.lets_pass(event):
                    self._seq = seq = self._seq + 1
                    return [LogEntry(seq, seq, ts, event)]
                return self._take([event], ts)
        return self._take(self._parser.feed_lines(self._lines.split(data)), ts)

    def feed(self, raws: Iterable[JSON], ts: int | None = None) -> list[LogEntry]:
        """The entries for raw events that are JSON values already."""
        feed = self._parser.feed
        return self._take([event for raw in raws for event in feed(raw)], ts)

    def close(self, done: Done | None = None, ts: int | None = None) -> list[LogEntry]:
        """The entries that end the run; `done` overrides the agent's proposal.

        Without it, a run of which no line was recognized ends with an error.
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
