"""The pipeline of one run: output → lines → events → repaired events → numbered entries.

`mobox convert`, the demo and the benchmarks use a `Recorder` alone. The server's run writer owns
one and adds the store, which numbers the entries itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat

from msgspec.structs import replace

from mobox.capture.jsonlines import END, Item, JsonLines
from mobox.events import JSON, Done, Events, LogEntry, Result, StreamEvent, Usage
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser, get_parser
from mobox.parsers.detection import UnreadLines
from mobox.parsers.emitted import EXIT


class Recorder:
    """Builds the log of one run: parses agent output, repairs event order, numbers the entries.

    `revise` may change the events of a line before they are repaired. With `begin=False` there is
    no parser until `begin_execution`: a log can be closed without its framework's plugin.
    """

    def __init__(
        self,
        framework: str,
        revise: Callable[[Events], Events] | None = None,
        *,
        begin: bool = True,
    ) -> None:
        self.lifecycle = Lifecycle(framework)
        self.unread = UnreadLines(framework)
        self._framework = framework
        self._revise = revise
        self._seq = 0
        self._execution = ""  # the name of every execution but the first
        self._lines = JsonLines()
        self._parser: EventParser
        if begin:
            self.begin_execution()

    # Whole batches of entries

    def read(self, data: bytes, ts: int | None = None) -> list[LogEntry]:
        """The entries for an agent's output, lines or SSE, read at `ts` in milliseconds."""
        return self._number([event for _, events in self.parse(data) for event in events], ts)

    def feed(self, raws: Iterable[JSON], ts: int | None = None) -> list[LogEntry]:
        """The entries for raw events that are JSON values already."""
        feed = self._parser.feed
        return self._number([event for raw in raws for event in self._repair(feed(raw))], ts)

    def close(self, done: Done | None = None, ts: int | None = None) -> list[LogEntry]:
        """The entries that end the run; `done` overrides the agent's proposal.

        Without it, a run of which no line was recognized ends with an error.
        """
        events = [event for _, events in self.parse(END) for event in events]
        events += self.finish_execution()
        if done is None:
            events += self.lifecycle.pause_again(at_end=True)
        return self._number(events + self.end(done), ts)

    def _number(self, events: Events, ts: int | None) -> list[LogEntry]:
        if len(events) == 1:  # most reads
            self._seq = seq = self._seq + 1
            return [LogEntry(seq, seq, ts, events[0])]
        numbers = range(self._seq + 1, self._seq + 1 + len(events))
        self._seq += len(events)
        return list(map(LogEntry, numbers, numbers, repeat(ts), events))

    # One step after the other, for a writer whose store numbers the entries

    def begin_execution(self, prefix: str = "") -> None:
        """Parse the output of another process; ids that its parser generates get the prefix."""
        self._execution = prefix.rstrip(".")
        self._lines = JsonLines()
        self._parser = get_parser(self._framework, prefix)

    def parse(self, data: bytes) -> list[tuple[Item, Events]]:
        """The lines that these bytes complete, each with its events for the log."""
        feed_line, repair = self._parser.feed_line, self._repair
        return [
            (item, repair(feed_line(item) if isinstance(item, bytes) else [item]))
            for item in self._lines.split(data)
        ]

    def parse_until_end(self, data: bytes) -> tuple[list[tuple[Item, Events]], list[Item]]:
        """As `parse`, up to the line with which the agent ends its output; and the lines after it.

        That is `exit`, or `done` once nothing is at work that it would cut. Whatever the agent
        wrote after it makes no events, in however many reads it comes.
        """
        feed_line, repair = self._parser.feed_line, self._repair
        parsed: list[tuple[Item, Events]] = []
        items = self._lines.split(data)
        for number, item in enumerate(items, 1):
            parsed.append((item, repair(feed_line(item) if isinstance(item, bytes) else [item])))
            if self._parser.ending is not None and self.has_ended:
                late = items[number:] + self._lines.split(END)
                self._lines = JsonLines()
                return parsed, late
        return parsed, []

    @property
    def has_ended(self) -> bool:
        """Whether the agent has ended its output by a line."""
        ending = self._parser.ending
        return ending == EXIT or (ending is not None and self.lifecycle.may_end)

    def finish_execution(self) -> Events:
        """The events that the parser adds after the last line (`parse(END)` completes that)."""
        last = self._with_execution(self._parser.close())
        self.unread.see(last)
        return self.lifecycle.feed_last(last if self._revise is None else self._revise(last))

    def end(self, done: Done | None, *last: StreamEvent) -> Events:
        """The last events and DONE; see `close`."""
        if done is None and (error := self.unread.error()) is not None:
            done, last = Done(reason="error"), (*last, error)
        return self.lifecycle.feed_all(last) + self.lifecycle.close(done)

    def _repair(self, parsed: Events) -> Events:
        """The events for the log, from those of one line."""
        if self._execution:
            parsed = self._with_execution(parsed)
        self.unread.see(parsed)
        if self._revise is not None:
            parsed = self._revise(parsed)
        return self.lifecycle.feed_line(parsed)

    def _with_execution(self, events: Events) -> Events:
        """`events`, with USAGE and RESULT marked with every execution but the first."""
        name = self._execution
        if not name:
            return events
        return [
            replace(event, execution=name) if isinstance(event, Usage | Result) else event
            for event in events
        ]

    # The state after a stored log

    def forget(self) -> None:
        """Drop the state of the log; that of the parser stays."""
        self.lifecycle = Lifecycle(self._framework)
        self.unread = self.unread.afresh()

    def recall(self, events: Events) -> None:
        """Take the events of a stored log."""
        self.lifecycle.feed_all(events)
        self.unread.recall(events)
