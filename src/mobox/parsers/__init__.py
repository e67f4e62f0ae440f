"""Parsers: raw events of a framework in, StreamEvents out. No I/O, no clock, no randomness.

Rule 1: one framework, one module; nothing else in mobox knows its event names.
Rule 2: unknown input is never an error: it becomes RAW, and nothing is lost.
Rule 3: ids come from the framework; missing ones are generated, with the parser's prefix.
Rule 4: a parser ends only what it opened itself; the lifecycle repairs the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

import msgspec

from mobox.errors import NotJson, NotShown, UnknownFramework, UnrecognizedLine
from mobox.events import JSON, Raw, StreamEvent, TextDelta, json_text
from mobox.parsers.emitted import EMITTED, EmittedLines, plain_text
from mobox.parsers.formats import Format
from mobox.parsers.values import NOT_SHOWN, exception_error, is_exception
from mobox.registry import find, names

_T = TypeVar("_T")
_R = TypeVar("_R")

GROUP = "mobox.parsers"
FAILED = "parser failed"
"""Prefix of the `source` of a RAW whose line made the parser fail: a bug of Mobox or a plugin."""


class EventParser:
    """The state of one run of one framework. Subclasses parse its own lines in `read`."""

    framework: ClassVar[str] = "unknown"
    formats: ClassVar[tuple[Format, ...]] = ()
    """The formats of its lines, by which `mobox.parsers.detection` recognizes them."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._emitted = EmittedLines(prefix, self.framework)

    def read(self, raw: JSON) -> list[StreamEvent]:
        """Parse one line of the framework.

        Raises `UnrecognizedLine` for a line of no known kind, `NotShown` for a known one that makes
        no event but must be kept, and `msgspec.ValidationError` for an invalid one: `feed` makes
        RAW of all of them.
        """
        raise UnrecognizedLine

    def close(self) -> list[StreamEvent]:
        """The source ended: flush what this parser buffered, and propose a DONE if it saw one."""
        return []

    @property
    def ending(self) -> str | None:
        """The emitted line by which the agent said that it writes no more, if it did."""
        return self._emitted.ending

    def feed(self, raw: JSON) -> list[StreamEvent]:
        """Parse one raw event into no event, one event or several.

        Every framework's agents may also print the simplified lines of `mobox.emitter`; a
        `StreamEvent` is returned as it is.
        """
        if isinstance(raw, StreamEvent):
            return raw.split()
        return self._or_raw(self._read_any, raw, lambda: raw)

    def _read_any(self, raw: JSON) -> list[StreamEvent]:
        if type(raw) is dict:
            if "data" in raw and self._emitted.knows(raw):
                return self._emitted.read(raw)
            if is_exception(raw):
                return [exception_error(raw)]
        return self._emitted.thoughts.without_repeats(self.read(raw))

    def _or_raw(
        self, read: Callable[[_T], _R], line: _T, as_json: Callable[[], JSON]
    ) -> _R | list[StreamEvent]:
        """The events that `read` makes of a line; RAW if it cannot be parsed."""
        try:
            return read(line)
        except NotShown:
            why = NOT_SHOWN
        except UnrecognizedLine:
            why = None
        except msgspec.ValidationError as error:
            why = f"malformed: {error}"
        except Exception as error:  # a bug in `read` must not end the run: the line is kept
            why = f"{FAILED}: {error!r}"
        return [Raw(raw=as_json(), source=why)]

    def feed_line(self, line: bytes) -> list[StreamEvent]:
        """`feed` for a line of JSON text.

        A parser may override it with a short way for a line that surely is a delta of the open
        block: the same events, by `_feed_typed`.
        """
        if (text := plain_text(line)) is not None:
            return [TextDelta(delta=text)]
        try:
            return self.feed(json_text.decode_json(line))
        except NotJson as problem:
            return [json_text.kept(line, str(problem))]

    def _feed_typed(
        self,
        decode: Callable[[bytes], _T],
        read: Callable[[_T], list[StreamEvent] | None],
        line: bytes,
    ) -> list[StreamEvent] | None:
        """The events that `read` makes of a line that is decoded directly into a type.

        `None` if the line does not fit the type, or if `read` returns that, without a change of
        state: then it is parsed by its value.
        """
        typed = decode_as(decode, line)
        return (
            None
            if typed is None
            else self._or_raw(read, typed, lambda: json_text.decode_json(line))
        )


def decode_as(decode: Callable[[bytes], _T], line: bytes) -> _T | None:
    """`line`, decoded directly into a type; `None` if it does not fit, so that `feed` parses it."""
    try:
        return decode(line) if len(line) <= json_text.SHORT or json_text.is_shallow(line) else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def get_parser(framework: str, prefix: str = "") -> EventParser:
    """A fresh parser for one run of `framework`; ids that it generates start with `prefix`."""
    factory = find(GROUP, framework, UnknownFramework)
    parser: EventParser = factory(prefix)
    return parser


def check_framework(framework: str) -> None:
    """Load the parser; raises the same errors as `get_parser`."""
    find(GROUP, framework, UnknownFramework)


def frameworks() -> list[str]:
    """The names `get_parser` knows."""
    return names(GROUP)


class EmittedParser(EventParser):
    """An agent that prints only the simplified lines."""

    framework = "emitted"
    formats = (EMITTED,)
