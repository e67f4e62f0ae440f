"""Every exception mobox raises.

* MoboxError
  * UnknownName           the caller named something that is not registered
    * UnknownFramework    no parser has that name
    * UnknownProtocol     no formatter has that name
    * UnknownProfile      the formatter has no such profile
  * InvalidEvent          the caller built an event from fields it does not have
  * InvalidRequest        a frontend sent a request that cannot be understood
  * NotJson               text that should be JSON is not, or cannot be kept
  * NotUnderstood         a parser's own word for a line that it passes on as RAW
  * ParseError            a raw event cannot be told in the way the caller asked for
  * ProtocolError         we were about to break a promise made to a frontend
  * CorruptLog            stored bytes are not a log entry

An agent that breaks its own format raises nothing: what is not understood travels on as RAW.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class MoboxError(Exception):
    """Base of every exception raised by mobox."""


class UnknownName(MoboxError):
    """Something was asked for by a name nobody registered."""

    kind: ClassVar = "name"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        super().__init__(f"unknown {self.kind} {name!r}; known: {', '.join(self.known) or 'none'}")


class UnknownFramework(UnknownName):
    """No parser is registered under that name."""

    kind = "framework"


class UnknownProtocol(UnknownName):
    """No formatter is registered under that name."""

    kind = "protocol"


class UnknownProfile(UnknownName):
    """The protocol has no profile of that name."""

    kind = "profile"


class InvalidEvent(MoboxError):
    """The fields given do not make an event of that type."""


class InvalidRequest(MoboxError):
    """A request cannot be understood; `field` is the path of what is wrong, "" for all of it."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field or 'the body'}: {problem}")


class NotJson(MoboxError):
    """The text is not a JSON value that can be kept; the message says why."""


class NotUnderstood(MoboxError):
    """The line is of no known kind; it never leaves the parser, which passes the line on."""


class ParseError(MoboxError):
    """A raw event means more than the one event asked for."""


class ProtocolError(MoboxError):
    """The event would have broken a promise made to the readers of a run."""


class CorruptLog(MoboxError):
    """Bytes read back from a log are not an entry."""
