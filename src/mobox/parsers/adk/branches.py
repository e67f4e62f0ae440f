"""Maps ADK's branches to scopes and subagents.

A branch is names separated by dots. `writer@call_1` is the agent that a call spawned; `both.p1` is
the agent p1 that `both` runs in parallel: no call spawned it, so its branch is its id.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from mobox.events import Scope, StreamEvent, SubagentEnd, SubagentStart

__all__ = ["Branches", "Level"]

MOST_LEVELS = 32


class Level(Struct, frozen=True):
    """One step down a branch."""

    id: str
    agent: str
    spawned: bool
    """Spawned by a call, whose result is its end."""


class Branches:
    """The open subagents of a run."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Level, Scope]] = {}

    def enter(self, branch: str | None, tasks: dict[str, str]) -> tuple[Scope, list[StreamEvent]]:
        """The scope of a branch, and the events for entering it the first time."""
        scope: Scope = ()
        events = self._leave_others(branch)
        for level in levels_of(branch):
            if level.id not in self._open:
                self._open[level.id] = (level, scope)
                task = tasks.get(level.id)
                start = SubagentStart(id=level.id, scope=scope, agent=level.agent, task=task)
                events.append(start)
            scope = (*scope, level.id)
        return scope, events

    def returned(self, call: str | None) -> list[StreamEvent]:
        """A call has its result: end the agent that it spawned."""
        return self._end(call) if call is not None and call in self._open else []

    def close(self) -> list[StreamEvent]:
        """The run succeeded: end the parallel agents."""
        return [event for name in reversed(list(self._open)) for event in self._end(name)]

    def _leave_others(self, branch: str | None) -> list[StreamEvent]:
        """An agent that emits after parallel agents has waited for them: end those."""
        if branch:
            return []
        beside = [name for name, (level, _) in self._open.items() if not level.spawned]
        return [event for name in reversed(beside) for event in self._end(name)]

    def _end(self, name: str) -> list[StreamEvent]:
        level, scope = self._open.pop(name)
        return [SubagentEnd(id=name, scope=scope, agent=level.agent)]


def levels_of(branch: str | None) -> Iterator[Level]:
    """The steps of a branch."""
    words = branch.split(".")[:MOST_LEVELS] if branch else []
    start = 0
    while start < len(words):
        agent, at, call = words[start].partition("@")
        if at and call:
            yield Level(call, agent or "agent", spawned=True)
            start += 1
            continue
        is_pair = start + 1 < len(words) and "@" not in words[start + 1]
        start += 2 if is_pair else 1
        yield Level(".".join(words[:start]), words[start - 1] or "agent", spawned=False)
