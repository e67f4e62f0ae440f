"""When a run waits: after PAUSED, until something new is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mobox.events import EventType, StreamEvent

__all__ = ["LETS_WAIT", "waits_after"]

LETS_WAIT: Final = {
    EventType.RAW,
    EventType.RESULT,
    EventType.STATE,
    EventType.STATUS,
    EventType.TEXT_END,
    EventType.THINKING_END,
    EventType.USAGE,
}
"""What may come after PAUSED, such as the usage of the message that paused: nothing new."""


def waits_after(waiting: bool, events: Sequence[StreamEvent]) -> bool:
    """Whether a run waits that has said `events`, and was `waiting` or not before."""
    for event in reversed(events):
        if event.type not in LETS_WAIT:
            return event.type is EventType.PAUSED
    return waiting
