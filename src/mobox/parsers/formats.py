"""Descriptions of formats: shapes that recognize a line, each with a confidence.

A parser names the formats that it reads (`EventParser.formats`); `unsupported.py` those that no
parser reads yet. `detection.py` compares a stream with all of them, and `scripts/event-mapping`
names the kinds of lines in its tables by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import Struct

from mobox.events import JSON

Shape = Callable[[JSON], float]
"""The confidence that a line has this shape: from 0, it has not, to 1, no other format has it."""
Kind = tuple[str, ...] | Callable[[dict[str, JSON]], str]


class Format(NamedTuple):
    """One format, as which a stream can be recognised."""

    name: str
    """The name of its lines, such as "pydantic-ai's events"."""
    shapes: tuple[Shape, ...]
    narrows: str | None = None
    """The framework whose lines these are too. One such line in a stream of that framework makes
    the whole stream this format."""
    kind: Kind = ()
    """What names the kind of a line: paths such as `delta.type`, the most general first, or a
    function. By default the keys of the shapes."""
    known: tuple[str, ...] = ()
    """Kinds of line that the parser reads, beside those that the shapes name."""

    def confidence(self, line: JSON) -> float:
        """The confidence that a line has this format."""
        return max(shape(line) for shape in self.shapes)


class Kinds(Struct, frozen=True):
    """Objects whose `key` is one of these names, and which have these other keys as well."""

    key: str
    names: frozenset[str]
    has: frozenset[str]
    confidence: float

    def __call__(self, line: JSON) -> float:
        is_known = isinstance(line, dict) and type(line.get(self.key)) is str
        fits = is_known and line[self.key] in self.names and line.keys() >= self.has
        return self.confidence if fits else 0.0


class Prefixed(Struct, frozen=True):
    """Objects whose `key` is a text that begins like this."""

    key: str
    prefixes: tuple[str, ...]
    confidence: float

    def __call__(self, line: JSON) -> float:
        is_text = isinstance(line, dict) and type(line.get(self.key)) is str
        return self.confidence if is_text and line[self.key].startswith(self.prefixes) else 0.0


class Having(Struct, frozen=True):
    """Objects that have all these keys, and none of the others."""

    keys: tuple[str, ...]
    unwanted: frozenset[str]
    confidence: float

    @property
    def key(self) -> str:
        return self.keys[0]

    def __call__(self, line: JSON) -> float:
        fits = isinstance(line, dict) and line.keys() >= set(self.keys)
        return self.confidence if fits and self.unwanted.isdisjoint(line) else 0.0


def kind_in(key: str, names: Iterable[str], *has: str, confidence: float = 1.0) -> Kinds:
    """Objects whose `key` is one of these names, and which have these other keys as well."""
    return Kinds(key, frozenset(names), frozenset(has), confidence)


def kind_starts_with(key: str, *prefixes: str, confidence: float = 1.0) -> Prefixed:
    """Objects whose `key` is a text that begins like this."""
    return Prefixed(key, prefixes, confidence)


def has_keys(*keys: str, confidence: float = 1.0, without: Iterable[str] = ()) -> Having:
    """Objects that have all these keys, and none of the others."""
    return Having(keys, frozenset(without), confidence)
