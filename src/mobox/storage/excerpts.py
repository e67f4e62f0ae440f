"""Where a search found its text: a few words of a message around it, as plain text."""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from msgspec import Struct

HITS: Final = 3
"""Messages of one chat that a search shows."""
_BEFORE: Final = 40
_AFTER: Final = 100
"""Characters around the text that was found."""


class Excerpt(Struct, frozen=True, kw_only=True):
    """Text around what was found: the three strings are one piece of the message, on one line."""

    before: str
    match: str
    after: str


class Hit(Struct, frozen=True, kw_only=True):
    """A message that contains the text of a search."""

    message_id: str
    role: str
    excerpt: Excerpt


def excerpt_of(text: str, query: str) -> Excerpt | None:
    """The first place of a query in a text, ignoring case; `None` if it is not there."""
    place = find_folded(text, query)
    if place is None:
        return None
    start, end = place
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
    if start > _BEFORE:
        before = "…" + _from_word(before)
    if end + _AFTER < len(text):
        after = _to_word(after) + "…"
    return Excerpt(before=_line(before), match=_line(text[start:end]), after=_line(after))


def find_folded(text: str, query: str) -> tuple[int, int] | None:
    """Where a query is in a text, both compared by `casefold`, which may change lengths (ß, ss)."""
    folded, wanted = text.casefold(), query.casefold()
    at = folded.find(wanted) if wanted else -1
    if at < 0:
        return None
    if len(folded) == len(text):
        return at, at + len(wanted)
    ends = list(accumulate(len(character.casefold()) for character in text))
    start = next(n for n, end in enumerate(ends) if end > at)
    last = next(n for n, end in enumerate(ends) if end >= at + len(wanted))
    return start, last + 1


def _from_word(text: str) -> str:
    _, space, rest = text.partition(" ")
    return rest if space and rest else text


def _to_word(text: str) -> str:
    rest, space, _ = text.rpartition(" ")
    return rest if space and rest else text


def _line(text: str) -> str:
    """On one line; a space at either end stays, as the strings belong together."""
    return "".join(" " if character.isspace() else character for character in text)
