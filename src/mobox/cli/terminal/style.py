"""How text looks in a terminal: colours, symbols, and the width of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final, NamedTuple

from mobox.events.printable import prose

ELLIPSIS: Final = "…"
_FENCE: Final = ("```", "~~~")

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "prompt": "36;1",
}


class Symbols(NamedTuple):
    """The characters in front of lines."""

    call: str
    result: str
    thought: str
    note: str
    file: str
    question: str
    error: str
    back: str
    """In front of the name of a subagent that continues."""
    pending: str
    in_progress: str
    completed: str
    advice: str
    working: str
    """The frames of the status line, one character each."""


UNICODE: Final = Symbols("●", "└", "✻", "·", "▪", "?", "✗", "↳", "○", "▸", "✔", "→", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
ASCII: Final = Symbols("*", "-", "~", ".", "+", "?", "x", ">", "[ ]", "[>]", "[x]", "->", "|/-\\")
"""For terminals with another encoding than UTF-8."""


class Style(NamedTuple):
    """What a terminal can show; the defaults are those of a file."""

    colour: bool = False
    symbols: Symbols = UNICODE
    width: int | None = None
    """In columns. Without a width, lines are neither wrapped nor cut to it."""
    moves: bool = False
    """Whether the cursor can move, so that lines can be shown anew."""

    def paint(self, how: str, text: str) -> str:
        """The text in a colour, if there are colours."""
        return f"\033[{_CODES[how]}m{text}\033[0m" if self.colour and text else text

    def fits(self, text: str, used: int = 0, most: int = 160) -> str:
        """The text on one line, cut to what is left of the width; `used` columns are not."""
        room = most if self.width is None else min(most, self.width - used - 1)
        return cut(one_line(text, 4 * most), max(8, room))


def terminal_style(
    is_terminal: bool, encoding: str | None, width: int, environment: Mapping[str, str]
) -> Style:
    """The style of a stream: no colours with NO_COLOR (no-color.org), nothing special in a file."""
    symbols = UNICODE if (encoding or "").lower().replace("-", "") == "utf8" else ASCII
    if not is_terminal:
        return Style(symbols=symbols)
    is_dumb = environment.get("TERM", "") in ("", "dumb")
    has_colours = not is_dumb and not environment.get("NO_COLOR")
    return Style(has_colours, symbols, width, moves=not is_dumb)


def one_line(text: str, most: int = 640) -> str:
    """The text with single spaces, as it can be shown; of a long one only the beginning."""
    return " ".join(prose(text[:most]).split())


def cells(text: str) -> int:
    """How many columns the text takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if _is_wide(character) else 1


def cut(text: str, width: int) -> str:
    """The text, or its beginning with an ellipsis, in at most that many columns."""
    if cells(text) <= width:
        return text
    used = 0
    for place, character in enumerate(text):
        used += _cells_of(character)
        if used > width - 1:
            return text[:place].rstrip() + ELLIPSIS
    return text


class Wrapped:
    """Text that comes in pieces, wrapped to a width, with an indent in front of each line.

    With a width, the last word is held back until it is complete. Lines of code, between fences of
    Markdown, are not wrapped: they would be other code when they are copied.
    """

    def __init__(self, indent: str, width: int | None) -> None:
        self._indent = indent
        # Terminals wrap by themselves behind the last column: a space there would be a line.
        self._width = None if width is None else max(len(indent) + 8, width - 1)
        self._column = len(indent)
        self._word = ""
        self._is_at_start = False
        self._is_first = True
        self._is_code = False

    def begin(self) -> None:
        """The next text is the first of a line, behind the indent."""
        self._column, self._is_at_start = len(self._indent), False

    def feed(self, piece: str) -> str:
        """The text that can be written by now."""
        *complete, self._word = _words(self._word + piece)
        if self._width is None or len(self._word) > self._width:
            complete.append(self._word)
            self._word = ""
        return "".join(map(self._put, complete))

    def end(self) -> str:
        """The rest: the text ends here."""
        rest, self._word = self._word, ""
        return self._put(rest)

    def _put(self, word: str) -> str:
        """A word with the space or the line end behind it."""
        bare, before = word.rstrip(" \n"), ""
        if self._is_first and bare.startswith(_FENCE):
            self._is_code = not self._is_code
        if self._is_too_long(bare):
            before, self._is_at_start = "\n", True
        if self._is_at_start and word != "\n" and word:
            before, self._is_at_start = before + self._indent, False
            self._column = len(self._indent)
        self._column += cells(word)
        if word.endswith("\n"):
            self._is_at_start, self._column = True, len(self._indent)
        self._is_first = word.endswith("\n") or (self._is_first and not bare)
        return before + word

    def _is_too_long(self, word: str) -> bool:
        if self._width is None or self._is_code:
            return False
        return self._column + cells(word) > self._width and self._column > len(self._indent)


def _words(text: str) -> list[str]:
    """Words, each with the space or line end behind it; the last one may not be complete."""
    words, start = [], 0
    for place, character in enumerate(text, 1):
        if character in " \n" or _is_wide(character):
            words.append(text[start:place])
            start = place
    return [*words, text[start:]]


def _is_wide(character: str) -> bool:
    """Lines may break behind such a character: Chinese and Japanese have no spaces."""
    return not character.isascii() and unicodedata.east_asian_width(character) in "WF"
