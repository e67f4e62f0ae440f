"""Descriptions of formats: shapes that recognize a line, each with a confidence.

A parser names the formats that it reads (`EventParser.formats`); `unsupported.py` those that no
parser reads yet. `detection.py` compares a stream with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mobox.events import JSON

Shape = Callable[[JSON], float]
"""The confidence that a line has this shape: from 0, it has not, to 1, no other format has it."""


class Format(NamedTuple):
    """One format, as which a stream can be recognised."""

    name: str
    """The name of its lines, such as "pydantic-ai's events"."""
    shapes: tuple[Shape, ...]
    narrows: str | None = None
    """The framework whose lines these are too. One such line in a stream of that framework makes
    the whole stream this format."""

    def confidence(self, line: JSON) -> float:
        """The confidence that a line has this format."""
        return max(shape(line) for shape in self.shapes)


def kinds(key: str, names: Iterable[str], *has: str, confidence: float = 1.0) -> Shape:
    """Objects whose `key` is one of these names, and which have these other keys as well."""
    known = frozenset(names)

    def shape(line: JSON) -> float:
        is_known = isinstance(line, dict) and type(line.get(key)) is str and line[key] in known
        return confidence if is_known and line.keys() >= set(has) else 0.0

    return shape


def prefixed(key: str, *prefixes: str, confidence: float = 1.0) -> Shape:
    """Objects whose `key` is a text that begins like this."""

    def shape(line: JSON) -> float:
        is_text = isinstance(line, dict) and type(line.get(key)) is str
        return confidence if is_text and line[key].startswith(prefixes) else 0.0

    return shape


def having(*keys: str, confidence: float = 1.0, without: Iterable[str] = ()) -> Shape:
    """Objects that have all these keys, and none of the others."""
    wanted, unwanted = frozenset(keys), frozenset(without)

    def shape(line: JSON) -> float:
        fits = isinstance(line, dict) and line.keys() >= wanted and unwanted.isdisjoint(line)
        return confidence if fits else 0.0

    return shape
