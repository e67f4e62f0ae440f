"""Ids on the wire: a client appends to a message whose id it knows, so ids must be unique.

A thread has many runs, whose blocks and calls may have the same ids: on the wire each is prefixed
with its run's id, `<run>:<id>`. Generated ids have an `@`, so they never equal a framework's id.
"""

from __future__ import annotations

from collections import Counter

__all__ = ["WireIds", "own_id", "wire_id"]


def wire_id(run: str, own: str | None) -> str:
    """The id on the wire of a block, a call, a subagent or a request of a run."""
    return f"{run}:{own}"


def own_id(wire: str) -> tuple[str | None, str]:
    """The run and the own id of an id on the wire; no run if the id is not one of ours."""
    run, colon, own = wire.partition(":")
    return (run, own) if colon else (None, wire)


class WireIds:
    """The ids of one run's messages; live and stored they are generated in the same order."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._used: Counter[str] = Counter()

    def of(self, own: str | None) -> str:
        """The id on the wire of a call, a subagent or a request."""
        return wire_id(self._run, own)

    def owner(self, scope: tuple[str, ...]) -> str | None:
        """The `subagentRunId` of events in `scope`; none for the root agent."""
        return wire_id(self._run, scope[-1]) if scope else None

    def next_message(self, own: str | None) -> str:
        """The id of a new message: a block may be opened again under its id."""
        wire = wire_id(self._run, own)
        self._used[wire] += 1
        return wire if self._used[wire] == 1 else f"{wire}@{self._used[wire]}"

    def result(self, call: str | None) -> str:
        """The id of the message with a call's result."""
        return f"{wire_id(self._run, call)}@result"

    def activity(self, name: str, scope: tuple[str, ...] = ()) -> str:
        """The id of a message that the formatter adds."""
        return wire_id(self._run, "/".join((f"@{name}", *scope[-1:])))
