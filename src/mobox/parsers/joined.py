"""The events of one line as one event: the first, which has the others in `more`.

For callers that take one event per line (`EventParser.parse`). In a log events are separate, and
most code checks an event's exact class: `split` before anything else reads it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from mobox.events import CLASSES, Events, StreamEvent


def join(events: Events) -> StreamEvent:
    """The first of `events`; if there are others, as one that has them in `more`."""
    first, *others = events
    if not others:
        return first
    joined = _joined_class(type(first))(**msgspec.structs.asdict(first))
    vars(joined)["more"] = tuple(others)
    return joined


def split(event: StreamEvent) -> Events:
    """The events that `join` made one of; an event of its own is the only one."""
    event_class = CLASSES[event.type]
    if type(event) is event_class:
        return [event]
    return [event_class(**msgspec.structs.asdict(event)), *event.more]


@cache
def _joined_class(event_class: type[StreamEvent]) -> type[StreamEvent]:
    """A subclass with room for `more`, which is no field: JSON, `data` and `repr` stay the same."""
    namespace = {"__eq__": _equals, "__hash__": _hash, "__reduce__": _reduce}
    name, module = event_class.__name__, event_class.__module__
    made = msgspec.defstruct(
        name, (), bases=(event_class,), namespace=namespace, module=module, dict=True, gc=True
    )
    return cast(type[StreamEvent], made)


def _equals(self: StreamEvent, other: Any) -> bool:
    """Equal to the same first event alone, and to another one with the same `more`."""
    if not isinstance(other, StreamEvent):
        return False
    mine, others = split(self), split(other)
    return mine == others if other.more else mine[0] == others[0]


def _hash(self: StreamEvent) -> int:
    return hash(split(self)[0])


def _reduce(self: StreamEvent) -> tuple[Any, tuple[Events]]:
    """How it is copied and pickled."""
    return join, (split(self),)
