"""Finds out which format the lines of a stream are: the one detector, over all formats.

Rule 1: only the shapes of lines count, never what they say. No I/O but the import of parsers.
Rule 2: the confidence in a format is the share of the lines that it explains, each counted with the
        confidence of its shape. A parser explains the simplified lines too, for it reads them.
Rule 3: text that is not JSON says nothing about the format, nor does an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from mobox.errors import PluginError, UnknownFramework
from mobox.events import JSON
from mobox.parsers import GROUP, EmittedParser, frameworks
from mobox.parsers.emitted.formats import EMITTED
from mobox.parsers.formats import Format
from mobox.parsers.raised import is_raised
from mobox.parsers.unsupported import UNSUPPORTED
from mobox.registry import find

__all__ = ["LOOK_AT", "Guess", "detect"]

LOOK_AT: Final = 32
"""How many lines are compared."""
LEAST: Final = 0.3
"""A smaller confidence is chance."""


class Guess(NamedTuple):
    """What a stream looks like."""

    name: str
    framework: str | None
    """Whose parser reads it; `None` where there is none yet."""
    confidence: float


class _Candidate(NamedTuple):
    framework: str | None
    formats: tuple[Format, ...]

    def guess(self, lines: list[JSON]) -> Guess | None:
        """How likely it is that this wrote the lines; `None` if none of them looks like it."""
        formats = [each for each in self.formats if each.narrows is None]
        scores = {each.name: [*map(each.confidence, lines)] for each in formats}
        if not any(map(any, scores.values())):
            return None
        name = max(scores, key=lambda name: sum(scores[name]))
        if self.framework is not None:
            scores[EMITTED.name] = [*map(EMITTED.confidence, lines)]
        best = map(max, zip(*scores.values(), strict=True))
        return Guess(name, self.framework, sum(best) / len(lines))

    def narrowed(self, guess: Guess, lines: list[JSON]) -> Guess | None:
        """What is more exact than `guess`, if some of the lines are marked as that."""
        for each in self.formats:
            is_within = each.narrows is not None and each.narrows == guess.framework
            if is_within and any(map(each.confidence, lines)):
                return Guess(each.name, self.framework, guess.confidence)
        return None


def detect(lines: Iterable[JSON]) -> Guess | None:
    """The format that these lines are most likely of, if it is any."""
    told = list(islice(filter(_tells, lines), LOOK_AT))
    candidates = list(_candidates())
    guesses = _guesses(candidates, lambda each: each.guess(told))
    best = max(guesses, key=lambda guess: guess.confidence, default=None)
    if best is None or best.confidence < LEAST:
        return None
    return next(_guesses(candidates, lambda each: each.narrowed(best, told)), best)


def _guesses(
    candidates: Iterable[_Candidate], ask: Callable[[_Candidate], Guess | None]
) -> Iterator[Guess]:
    for candidate in candidates:
        try:
            guess = ask(candidate)
        except Exception:  # somebody else's shapes may raise anything, and this is only a guess
            continue
        if guess is not None:
            yield guess


def _tells(line: JSON) -> bool:
    return isinstance(line, list) or (isinstance(line, dict) and not is_raised(line))


def _candidates() -> Iterator[_Candidate]:
    """Simplified lines first: of candidates that are as likely the first is taken."""
    names = sorted(frameworks(), key=lambda name: name != EmittedParser.framework)
    for name in names:
        if formats := _formats_of(name):
            yield _Candidate(name, formats)
    for unsupported in UNSUPPORTED:
        yield _Candidate(None, (unsupported,))


def _formats_of(framework: str) -> tuple[Format, ...]:
    try:
        parser = find(GROUP, framework, UnknownFramework)
    except PluginError:  # it can read nothing either
        return ()
    formats: tuple[Format, ...] = getattr(parser, "formats", ())
    return formats
