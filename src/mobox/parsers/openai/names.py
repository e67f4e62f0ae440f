"""Names for messages, items and calls: those of the provider, made unique, or counted ones."""

from __future__ import annotations

from collections import Counter

__all__ = ["Names"]

FAKE = "__fake_id__"
"""What the Agents SDK calls all items of a model that gives them no ids."""


class Names:
    """The names that were given in one run."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._seen: Counter[str] = Counter()
        self._count: Counter[str] = Counter()

    def unique(self, told: str | None, kind: str) -> str:
        """The provider's own name, with a mark if it was used before; else a counted one."""
        if not told or told == FAKE:
            self._count[kind] += 1
            return self.unique(f"{self.prefix}{kind}_{self._count[kind]}", kind)
        self._seen[told] += 1
        return told if self._seen[told] == 1 else f"{told}~{self._seen[told]}"
