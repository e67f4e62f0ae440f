"""Removes duplicate thoughts: a think tool's call and the line that the tool prints.

Rule 1: each is emitted once, for the first of the two: a tool may print before its call is
        reported.
Rule 2: a line has no scope. It gets that of the call with this thought, or of a think tool's call
        whose input is not complete.
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from mobox.events import Events, Scope, StreamEvent, Thinking, ThinkingEnd, ToolUseEnd, ToolUseStart
from mobox.parsers import displays
from mobox.parsers.json_values import object_of

__all__ = ["Thoughts"]

_WATCHED = {ToolUseStart, ToolUseEnd, Thinking}


class Thoughts:
    """The thoughts of one run that were emitted and may come again."""

    def __init__(self) -> None:
        self._calls: dict[str | None, Scope] = {}  # of think tools, while their input comes
        self._scopes: dict[str, Scope] = {}  # of thoughts in calls
        self._of_calls: Counter[str] = Counter()  # emitted for a call, whose line may follow
        self._of_lines: Counter[str] = Counter()  # emitted for a line, whose call may follow

    def in_call(self, thought: str) -> bool:
        """Whether the thought of a call must be emitted."""
        return not _take(self._of_lines, thought) and _add(self._of_calls, thought)

    def in_line(self, thought: Thinking) -> Thinking | None:
        """The thought of a line, with its scope; `None` if it was emitted for a call."""
        if _take(self._of_calls, thought.content):
            return None
        _add(self._of_lines, thought.content)
        scope = self._scopes.get(thought.content) or next(iter(self._calls.values()), ())
        return replace(thought, scope=thought.scope or scope)

    def without_repeats(self, events: Events) -> Events:
        """`events` of a framework without thoughts that were emitted for a line."""
        if _WATCHED.isdisjoint(map(type, events)):
            return events
        kept: Events = []
        repeated: set[str | None] = set()
        for event in events:
            if isinstance(event, ToolUseStart | ToolUseEnd):
                self._note(event)
            if self._is_repeat(event):
                repeated.add(event.id)
            elif not (isinstance(event, ThinkingEnd) and event.id in repeated):
                kept.append(event)
        return kept

    def _is_repeat(self, event: StreamEvent) -> bool:
        if not isinstance(event, Thinking) or event.source != "think":
            return False
        return not self.in_call(event.content)

    def _note(self, event: ToolUseStart | ToolUseEnd) -> None:
        if isinstance(event, ToolUseStart):
            if displays.LANGCHAIN.get(event.name) == "think":
                self._calls[event.id] = event.scope
        elif event.id in self._calls:
            thought = object_of(event.input).get("thought")
            scope = self._calls.pop(event.id)
            if isinstance(thought, str):
                self._scopes[thought] = scope


def _add(counter: Counter[str], thought: str) -> bool:
    counter[thought] += 1
    return True


def _take(counter: Counter[str], thought: str) -> bool:
    if not counter[thought]:
        del counter[thought]
        return False
    counter[thought] -= 1
    return True
