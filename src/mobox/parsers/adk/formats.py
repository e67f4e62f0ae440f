"""The formats of ADK's lines."""

from __future__ import annotations

from mobox.parsers.formats import Format, having

__all__ = ["FORMATS"]

FORMATS: tuple[Format, ...] = (
    Format(
        "ADK's events",
        (
            having("author", "invocationId"),
            having("author", "invocation_id"),
            having("author", "actions"),
            having("__follow_up__", confidence=0.5),
        ),
    ),
)
