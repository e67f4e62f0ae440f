"""What agents wrote, for a terminal: nothing in it that a terminal would obey, or that hides."""

from __future__ import annotations

from typing import Final

__all__ = ["on_one_line", "printable"]

LAYOUT: Final = "\n\t"


def printable(text: str) -> str:
    """The text on its lines; whatever else is not seen is shown by its number."""
    return "".join(c if c.isprintable() or c in LAYOUT else _escaped(c) for c in text)


def on_one_line(text: str, most: int = 200) -> str:
    """The text, or as many characters of it, on one line."""
    shown = "".join(c if c.isprintable() else _escaped(c) for c in text[:most])
    return shown if len(text) <= most else f"{shown}…"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
