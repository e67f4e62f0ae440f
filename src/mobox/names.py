"""Ids of one run: those that were told, made unique, and counted ones for what came without."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from msgspec.structs import replace

from mobox.events import StreamEvent

__all__ = ["Names", "named"]

_E = TypeVar("_E", bound=StreamEvent)


class Names:
    """The names that were given; counted ones start with `prefix`."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._taken: set[str | None] = set()
        self.take = self._taken.add
        """Tell that a name is used, by somebody else."""
        self._count: Counter[str] = Counter()

    def fresh(self, kind: str) -> str:
        """A counted name that nobody uses."""
        while True:
            self._count[kind] += 1
            name = f"{self.prefix}{kind}_{self._count[kind]}"
            if name not in self._taken:
                self.take(name)
                return name

    def unique(self, given: str | None, kind: str) -> str:
        """The name that was told, with a mark if it was used before; a counted one if none was."""
        if not given:
            return self.fresh(kind)
        name, again = given, f"{given}~"
        while name in self._taken:
            self._count[again] += 1
            name = f"{again}{self._count[again] + 1}"
        self.take(name)
        return name


def named(event: _E, name: str | None) -> _E:
    """`event` with `name` for its id."""
    return event if event.id == name else replace(event, id=name)
