"""Measures how long an agent worked before each text of its answer.

Neither the time in which it wrote a text counts, nor that in which it waited for a person. Only the
root agent's texts are answers; the work of subagents is part of its own.
"""

from __future__ import annotations

from mobox.events import EventType, StreamEvent


class WorkClock:
    """The clock of one run; `add` takes all events but the deltas of open blocks."""

    def __init__(self) -> None:
        self._since: int | None = None
        self._asked: set[str | None] = set()
        self._asked_at: int | None = None
        self._waited = 0

    def add(self, event: StreamEvent, ts: int | None) -> None:
        """Take the next event and its time."""
        if event.type is EventType.TEXT_END and not event.scope:
            self._since, self._waited = ts, 0
        elif event.type is EventType.INPUT_REQUEST:
            self._asked_at = self._asked_at if self._asked else ts
            self._asked.add(event.id)
        elif event.type is EventType.INPUT_RESPONSE:
            self._answer(event.id, ts)
        elif self._since is None:
            self._since = ts

    def _answer(self, name: str | None, ts: int | None) -> None:
        was_asked = name in self._asked
        self._asked.discard(name)
        if was_asked and not self._asked and ts is not None and self._asked_at is not None:
            self._waited += ts - self._asked_at

    def worked(self, ts: int | None) -> int | None:
        """The work before a text that starts now, in milliseconds."""
        if ts is None or self._since is None:
            return None
        return max(0, ts - self._since - self._waited)
