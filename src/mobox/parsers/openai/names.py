"""Names for messages, items and calls."""

from __future__ import annotations

from mobox import names

__all__ = ["Names"]

FAKE = "__fake_id__"
"""What the Agents SDK calls all items of a model that gives them no ids."""


class Names(names.Names):
    """The names that were given in one run."""

    def unique(self, given: str | None, kind: str) -> str:
        """The provider's own name, or a counted one."""
        return super().unique(None if given == FAKE else given, kind)
