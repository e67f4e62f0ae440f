"""A piece of a line that cannot be read is RAW; what stands beside it is told all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import ValidationError

from mobox.errors import NotUnderstood
from mobox.events import JSON, Raw, StreamEvent

__all__ = ["NOT_SHOWN", "or_raw"]

NOT_SHOWN = "not shown"
"""Why a line is RAW that is known, and of which nobody is to see anything."""


def or_raw(
    read: Callable[[], Iterable[StreamEvent]],
    raw: JSON,
    scope: tuple[str, ...] = (),
    source: str | None = None,
) -> list[StreamEvent]:
    """What `read` makes of a piece; RAW, if it cannot be read, for its reason or for `source`."""
    try:
        return list(read())
    except NotUnderstood:
        why = source
    except ValidationError as error:
        why = source or f"malformed: {error}"
    return [Raw(scope=scope, raw=raw, source=why)]
