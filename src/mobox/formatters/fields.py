"""The fields of a document: not every client treats `null` in an optional one as absent."""

from __future__ import annotations

from mobox.events import JSON

__all__ = ["known"]


def known(fields: dict[str, JSON]) -> dict[str, JSON]:
    """`fields` without those that have no value."""
    return {name: value for name, value in fields.items() if value is not None}
