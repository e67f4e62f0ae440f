"""Escapes agent output for a terminal: no control sequences and no invisible characters."""

from __future__ import annotations

from typing import Final

LAYOUT: Final = "\n\t"


def printable(text: str) -> str:
    """The text with its line ends; other invisible characters are shown by their number."""
    return "".join(c if c.isprintable() or c in LAYOUT else _escaped(c) for c in text)


def on_one_line(text: str, most: int = 200) -> str:
    """The text on one line, cut to that many characters."""
    shown = "".join(c if c.isprintable() else _escaped(c) for c in text[:most])
    return shown if len(text) <= most else f"{shown}…"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
