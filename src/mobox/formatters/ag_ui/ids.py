"""Ids on the wire: a client appends to a message whose id it knows, so none may come twice.

A thread has many runs, whose blocks and calls may have the same ids: on the wire each has its run's
id in front, `<run>:<id>`. What we add has an `@`, which keeps it apart from what a framework names.
"""

from __future__ import annotations

from collections import Counter

__all__ = ["WireIds", "own_id", "wire_id"]


def wire_id(run: str, own: str | None) -> str:
    """The id on the wire of a block, a call, a subagent or a request of a run."""
    return f"{run}:{own}"


def own_id(wire: str) -> tuple[str | None, str]:
    """The run and the id in it that an id on the wire is of; no run where it is another's id."""
    run, colon, own = wire.partition(":")
    return (run, own) if colon else (None, wire)


class WireIds:
    """The ids of one run's messages; live and at rest they are given in the same order."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._used: Counter[str] = Counter()

    def of(self, own: str | None) -> str:
        """What a call, a subagent or a request is called."""
        return wire_id(self._run, own)

    def owner(self, scope: tuple[str, ...]) -> str | None:
        """The `subagentRunId` of what is told in `scope`; none for the root agent."""
        return wire_id(self._run, scope[-1]) if scope else None

    def next_message(self, own: str | None) -> str:
        """The id of a message that begins: a block may be opened again under its id."""
        wire = wire_id(self._run, own)
        self._used[wire] += 1
        return wire if self._used[wire] == 1 else f"{wire}@{self._used[wire]}"

    def result(self, call: str | None) -> str:
        """The id of the message with a call's result."""
        return f"{wire_id(self._run, call)}@result"

    def activity(self, name: str, scope: tuple[str, ...] = ()) -> str:
        """The id of a message that we make ourselves."""
        return wire_id(self._run, "/".join((f"@{name}", *scope[-1:])))
