"""What a reader sees of failures where their details are not shown (`error_details: brief`).

The words of an error come from a provider, an exception or a process: they may have addresses,
names and content that are the operator's affair. A reader gets the sentence of its code.

Rule 1: the number of events and their order stay, so that every cursor stays valid.
Rule 2: an error that was written for readers (`public`) keeps its message.
Rule 3: a line that was not recognized may be an error: readers see that it was there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from mobox.agent_path.shared.failure_codes import sentence_of
from mobox.events import Error, LogEntry, Raw, Result, StreamEvent

_NAME: Final = re.compile(r"[\w.-]{1,64}")
"""A code that is a name; anything else may be a message."""


def without_details(entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
    """The entries for a reader who may not see the details of errors."""
    if BRIEF.keys().isdisjoint([type(entry.event) for entry in entries]):  # nearly always
        return entries
    return [replace(entry, event=brief_event(entry.event)) for entry in entries]


def brief_event(event: StreamEvent) -> StreamEvent:
    """The event without the words of a failure."""
    made = BRIEF.get(type(event))
    return event if made is None else made(event)


def _error(event: Error) -> Error:
    code = event.code if event.code and _NAME.fullmatch(event.code) else None
    message = event.message if event.public else sentence_of(code)
    return replace(event, message=message, code=code, stderr_tail=None, provider=None)


def _raw(event: Raw) -> Raw:
    reason = event.source and event.source.partition(":")[0]  # what follows may quote the line
    return replace(event, raw=None, source=reason, provider=None)


def _result(event: Result) -> Result:
    return replace(event, text=None, provider=None) if event.is_error else event


BRIEF: Final[dict[type[StreamEvent], Callable[[Any], StreamEvent]]] = {
    Error: _error,
    Raw: _raw,
    Result: _result,
}
