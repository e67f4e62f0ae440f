"""The calls that have started and have no result; most lines do not name a call by id.

Lookups take constant time, however many calls an agent leaves without a result.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from mobox.events import ToolUseStart

__all__ = ["SEARCH", "OpenCalls"]

SEARCH: Final = "internet_search"
"""The tool that `search` and `search_result` lines are about."""

Starts = dict[str | None, ToolUseStart]


class OpenCalls:
    """Calls by their id, the oldest first."""

    def __init__(self) -> None:
        self._calls: Starts = {}
        self._searches: Starts = {}  # the searches among them
        self._others: Starts = {}  # the others
        self._without_input: dict[str, Starts] = defaultdict(dict)  # by the name of the tool

    def start(self, start: ToolUseStart) -> None:
        """A call starts; an earlier one with its id is removed."""
        self.end(start.id)
        self._calls[start.id] = start
        self._of_kind(search=start.name == SEARCH)[start.id] = start
        self._without_input[start.name][start.id] = start

    def complete(self, call_id: str | None) -> None:
        """Its input is known."""
        if call_id in self._calls:
            self._without_input[self._calls[call_id].name].pop(call_id, None)

    def end(self, call_id: str | None) -> None:
        """It has its result."""
        self.complete(call_id)
        for calls in (self._calls, self._searches, self._others):
            calls.pop(call_id, None)

    def awaiting_input(self, call_id: str | None, name: str) -> ToolUseStart | None:
        """The call of that id whose input is not known; without an id, the oldest of that tool."""
        if call_id is None:
            return next(iter(self._without_input[name].values()), None)
        start = self._calls.get(call_id)
        return self._without_input[start.name].get(call_id) if start is not None else None

    def oldest(self, *, search: bool) -> str | None:
        """The oldest call, among the searches or among the others."""
        return next(iter(self._of_kind(search=search)), None)

    def _of_kind(self, *, search: bool) -> Starts:
        return self._searches if search else self._others
