"""Names for messages, items and calls."""

from __future__ import annotations

from mobox import names

__all__ = ["Names"]

FAKE = "__fake_id__"
"""The id that the Agents SDK gives all items of a model without ids."""


class Names(names.Names):
    """The names in use in one run."""

    def unique(self, given: str | None, kind: str) -> str:
        """The provider's own name, or a generated one."""
        return super().unique(None if given == FAKE else given, kind)
