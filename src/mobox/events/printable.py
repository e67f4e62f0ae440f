"""Escapes agent output for a terminal: no control sequences and no invisible characters."""

from __future__ import annotations

import re
from typing import Final

LAYOUT: Final = "\n\t"

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, the beginnings of terminal sequences
    "\u061c\u202a-\u202e\u2066-\u2069"  # these change the order in which other text is shown
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"  # no characters, or never visible
)
_LINE_ENDS: Final = re.compile("\r\n?|[\u2028\u2029]")


def printable(text: str) -> str:
    """The text with its line ends; other invisible characters are shown by their number."""
    return "".join(c if c.isprintable() or c in LAYOUT else _escaped(c) for c in text)


def prose(text: str) -> str:
    """Text for people: as `printable`, but with the spaces and joiners that languages need.

    A carriage return is a line end, so it cannot overwrite a line.
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: _escaped(found[0]), _LINE_ENDS.sub("\n", text))


def on_one_line(text: str, most: int = 200) -> str:
    """The text on one line, cut to that many characters."""
    shown = "".join(c if c.isprintable() else _escaped(c) for c in text[:most])
    return shown if len(text) <= most else f"{shown}…"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
