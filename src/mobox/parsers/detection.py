"""Detects the format of a stream's lines, among all known formats.

Rule 1: only the shapes of lines count, never their content. No I/O except importing parsers.
Rule 2: the confidence in a format is the share of the lines that it explains, each counted with the
        confidence of its shape. A parser explains the simplified lines too, because it reads them.
Rule 3: text that is not JSON, and exceptions, are no evidence for a format.
Rule 4: no line is kept, as one may be large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mobox.errors import PluginError, UnknownFramework
from mobox.events import JSON
from mobox.parsers import GROUP, EmittedParser, frameworks
from mobox.parsers.emitted.formats import EMITTED
from mobox.parsers.formats import Format
from mobox.parsers.raised import is_raised
from mobox.parsers.unsupported import UNSUPPORTED
from mobox.registry import find

__all__ = ["LOOK_AT", "Detector", "Guess", "detect"]

LOOK_AT: Final = 32
"""Maximum number of lines that are compared."""
LEAST: Final = 0.3
"""The minimum confidence; a smaller one may be chance."""


class Guess(NamedTuple):
    """The detected format of a stream."""

    name: str
    framework: str | None
    """The framework whose parser reads it; `None` if there is no parser."""
    confidence: float


def detect(lines: Iterable[JSON]) -> Guess | None:
    """The most likely format of these lines, if any."""
    detector = Detector()
    for line in lines:
        detector.see(line)
    return detector.guess()


class Detector:
    """Compares the first lines of a stream with all formats."""

    def __init__(self) -> None:
        self._seen = 0
        self._candidates: list[_Candidate] = []

    @property
    def has_enough(self) -> bool:
        """Whether more lines would change nothing."""
        return self._seen >= LOOK_AT

    def see(self, line: JSON) -> None:
        """Take one line."""
        if self.has_enough or not _is_evidence(line):
            return
        if not self._seen:  # parsers are imported with the first line
            self._candidates = list(_candidates())
        self._seen += 1
        for candidate in self._candidates:
            try:
                candidate.see(line)
            except Exception:  # a plugin's shapes may raise anything, and this is only a guess
                continue

    def guess(self) -> Guess | None:
        """The most likely format of the lines, if any."""
        guesses = [each.guess(self._seen) for each in self._candidates if each.is_likely]
        best = max(guesses, key=lambda guess: guess.confidence, default=None)
        if best is None or best.confidence < LEAST:
            return None
        narrowed = (each.narrowed(best) for each in self._candidates)
        return next(filter(None, narrowed), best)


class _Candidate:
    """How well the lines so far match one framework, or a format without a parser."""

    def __init__(self, framework: str | None, formats: tuple[Format, ...]) -> None:
        self._framework = framework
        self._likely = {each: 0.0 for each in formats if each.narrows is None}
        self._marks = {each: 0.0 for each in formats if each.narrows is not None}
        self._explained = 0.0

    def see(self, line: JSON) -> None:
        likely = {each: each.confidence(line) for each in self._likely}
        for each, confidence in likely.items():
            self._likely[each] += confidence
        for each in self._marks:
            self._marks[each] += each.confidence(line)
        simplified = EMITTED.confidence(line) if self._framework is not None else 0.0
        self._explained += max(simplified, *likely.values(), 0.0)

    @property
    def is_likely(self) -> bool:
        """Whether some line matches; simplified lines alone match no framework."""
        return any(self._likely.values())

    def guess(self, seen: int) -> Guess:
        name = max(self._likely, key=lambda each: self._likely[each]).name
        return Guess(name, self._framework, self._explained / seen)

    def narrowed(self, guess: Guess) -> Guess | None:
        """A more specific format than `guess`, if some line is marked as that."""
        for each, confidence in self._marks.items():
            if each.narrows == guess.framework and confidence:
                return Guess(each.name, self._framework, guess.confidence)
        return None


def _is_evidence(line: JSON) -> bool:
    return isinstance(line, list) or (isinstance(line, dict) and not is_raised(line))


def _candidates() -> Iterator[_Candidate]:
    """All candidates, simplified lines first: of equally likely ones the first is taken."""
    names = sorted(frameworks(), key=lambda name: name != EmittedParser.framework)
    for name in names:
        yield _Candidate(name, _formats_of(name))
    for unsupported in UNSUPPORTED:
        yield _Candidate(None, (unsupported,))


def _formats_of(framework: str) -> tuple[Format, ...]:
    try:
        parser = find(GROUP, framework, UnknownFramework)
    except PluginError:  # such a parser cannot be used anyway
        return ()
    formats = getattr(parser, "formats", ())
    is_table = isinstance(formats, tuple | list)
    return tuple(each for each in formats if isinstance(each, Format)) if is_table else ()
