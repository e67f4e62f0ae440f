"""The order in which the entries of a log are rendered, where several agents work at once.

Rule 1: the lines of a subagent stay together. While it works, those of other subagents wait, and
        while a block streams, all other lines do.
Rule 2: the root agent does not wait for subagents.
Rule 3: nothing waits longer than LONGEST, nor when the run waits or ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mobox.cli.terminal.layout import Layout
from mobox.events import (
    Done,
    LogEntry,
    Paused,
    Scope,
    StreamEvent,
    SubagentEnd,
    SubagentStart,
    ToolResult,
)

LONGEST: Final = 30_000
"""Milliseconds, by the times of the entries."""
MOST: Final = 20_000
"""Entries that may wait."""

_ABOUT_AGENTS: Final = (SubagentStart, SubagentEnd, ToolResult)


class Order:
    """The entries that wait, and the subagent whose lines are shown.

    What may be rendered next depends on the layout, so each entry must be rendered before the next
    one is taken.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._queue: list[LogEntry] = []
        self._announced: set[str | None] = set()  # subagents with a start and an end
        self._shown: str | None = None  # the outermost subagent whose lines are shown

    @property
    def waiting_agents(self) -> int:
        """How many subagents have entries that wait."""
        return len({lane[0] for entry in self._queue if (lane := self._lane(entry.event))})

    def add(self, entry: LogEntry) -> Iterator[LogEntry]:
        """Take the next entry of the log; the entries to render now."""
        if isinstance(entry.event, SubagentStart):
            self._announced.add(entry.event.id)
        if self._is_due(entry):
            yield from self.rest()
        if not self._may_go(entry.event):
            self._queue.append(entry)
            return
        block, agent = self._layout.streaming, self._shown
        yield self._note(entry)
        is_same = self._layout.streaming is block and self._shown == agent
        if is_same:  # those who had to wait still have to
            return
        while (place := self._next()) is not None:
            yield self._note(self._queue.pop(place))

    def rest(self) -> Iterator[LogEntry]:
        """All entries that wait."""
        while self._queue:
            place = self._next()
            if place is None:  # none of those who may go on has more
                self._layout.end_line()
                self._shown = None
            else:
                yield self._note(self._queue.pop(place))
        self._shown = None

    def _is_due(self, entry: LogEntry) -> bool:
        if not self._queue:
            return False
        if isinstance(entry.event, Paused | Done) or len(self._queue) >= MOST:
            return True
        since = self._queue[0].ts
        return since is not None and entry.ts is not None and entry.ts - since > LONGEST

    def _next(self) -> int | None:
        """The index of the next entry to render; `None` if all have to wait."""
        return next((n for n, each in enumerate(self._queue) if self._may_go(each.event)), None)

    def _may_go(self, event: StreamEvent) -> bool:
        lane = self._lane(event)
        if (block := self._layout.streaming) is not None:
            return lane == block.scope
        return not lane or self._shown in (None, lane[0])

    def _lane(self, event: StreamEvent) -> Scope:
        """The agent that an event belongs to: its start and end are its own."""
        if event.id in self._announced and isinstance(event, _ABOUT_AGENTS):
            return (*event.scope, event.id or "")
        return event.scope

    def _note(self, entry: LogEntry) -> LogEntry:
        """Note whose lines are shown, with an entry that is rendered next."""
        event = entry.event
        if lane := self._lane(event):
            self._shown = lane[0]
        if event.id == self._shown and self._ends_agent(event):
            self._shown = None
        return entry

    def _ends_agent(self, event: StreamEvent) -> bool:
        """The result of its call ends an agent without a start and an end."""
        is_result = isinstance(event, ToolResult) and event.id not in self._announced
        return is_result or isinstance(event, SubagentEnd)
