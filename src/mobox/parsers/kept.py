"""A piece of a line that cannot be read is RAW; what stands beside it is told all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import ValidationError

from mobox.errors import NotUnderstood
from mobox.events import JSON, Raw, StreamEvent

__all__ = ["or_raw"]


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
