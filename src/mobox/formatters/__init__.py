"""Formatters: log entries in, a protocol's JSON documents out. No I/O, no clock, no randomness.

Rule 1: one protocol, one folder; nothing else in mobox knows its wire names.
Rule 2: a formatter sees one entry at a time, in order, from the first; the same log gives the same
        bytes. So a resumed stream is the log formatted again, without what was sent before.
Rule 3: what a frontend cannot show is left out here, never by the parser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from mobox.errors import UnknownProfile, UnknownProtocol
from mobox.events import LogEntry
from mobox.formatters.pieces import LINE_END, split
from mobox.registry import find, names

__all__ = [
    "GROUP",
    "FormatJoined",
    "Formatter",
    "FormatterFactory",
    "StoredRun",
    "format_all",
    "formatter_of_run",
    "get_formatter",
    "is_indexed",
    "joining",
    "profiles_of",
    "protocols",
]

GROUP = "mobox.formatters"

FormatJoined = Callable[[Sequence[LogEntry], bytes], bytes]
"""Formats entries into documents, with the delivery's separator between each two."""


class Formatter(Protocol):
    """The state of one stream of one protocol; it can be copied (`copy.deepcopy`).

    Documents are whole JSON on one line, unframed.
    """

    def format(self, entry: LogEntry) -> list[bytes]:
        """The documents of `entry`."""
        ...

    def pause(self) -> list[bytes]:
        """The documents that end a response where the run waits for an answer."""
        ...

    def resume(self) -> list[bytes]:
        """The documents that start a response in the middle, after entries formatted unsent."""
        ...


class FormatterFactory(Protocol):
    """What a protocol registers: often just the formatter's class."""

    @property
    def PROFILES(self) -> tuple[str, ...]:  # noqa: N802 - a constant wherever it is defined
        """The client versions it can write for, the default first."""
        ...

    def __call__(self, message_id: str, profile: str) -> Formatter:
        """A fresh formatter for one stream."""
        ...


class StoredRun(Struct, frozen=True, kw_only=True):
    """Facts about a run that are not in its log."""

    id: str
    chat_id: str
    owner: str
    first_event_index: int = 0
    """How many events of this protocol the chat's earlier runs have, if it is indexed."""


def format_all(formatter: Formatter, entries: Sequence[LogEntry]) -> list[bytes]:
    """The documents of `entries`."""
    return split(joining(formatter)(entries, LINE_END))


def joining(formatter: Formatter) -> FormatJoined:
    """`format` for many entries at once; a formatter may implement its own `format_joined`."""

    def one_by_one(entries: Sequence[LogEntry], between: bytes) -> bytes:
        return between.join(document for entry in entries for document in formatter.format(entry))

    return getattr(formatter, "format_joined", one_by_one)


def get_formatter(protocol: str, message_id: str, profile: str | None = None) -> Formatter:
    """A fresh formatter for one stream of `protocol`."""
    factory, chosen = _chosen(protocol, profile)
    return factory(message_id, chosen)


def formatter_of_run(protocol: str, run: StoredRun, profile: str | None = None) -> Formatter:
    """A fresh formatter for a stream of a run; one that needs more facts has `of_run`."""
    factory, chosen = _chosen(protocol, profile)
    make: Callable[[StoredRun, str], Formatter] | None = getattr(factory, "of_run", None)
    return make(run, chosen) if make is not None else factory(run.id, chosen)


def is_indexed(protocol: str) -> bool:
    """Whether it numbers the events of all runs of a chat, and so needs `first_event_index`.

    Its events are its documents, unless its formatter has an `event_count`.
    """
    return getattr(_factory(protocol), "INDEXED", False)


def protocols() -> list[str]:
    """The names `get_formatter` knows."""
    return names(GROUP)


def profiles_of(protocol: str) -> tuple[str, ...]:
    """The profiles of `protocol`, the default first."""
    return _factory(protocol).PROFILES


def _factory(protocol: str) -> FormatterFactory:
    factory: FormatterFactory = find(GROUP, protocol, UnknownProtocol, "PROFILES")
    return factory


def _chosen(protocol: str, profile: str | None) -> tuple[FormatterFactory, str]:
    factory = _factory(protocol)
    if profile is not None and profile not in factory.PROFILES:
        raise UnknownProfile(profile, factory.PROFILES)
    return factory, profile or factory.PROFILES[0]
