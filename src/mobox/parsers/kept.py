"""Makes RAW of a part of a line that cannot be parsed, so that its other parts are not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import ValidationError

from mobox.errors import NotUnderstood
from mobox.events import JSON, Raw, StreamEvent

__all__ = ["NOT_SHOWN", "or_raw"]

NOT_SHOWN = "not shown"
"""The reason of a RAW for a line that is known and never shown."""


def or_raw(
    read: Callable[[], Iterable[StreamEvent]],
    raw: JSON,
    scope: tuple[str, ...] = (),
    source: str | None = None,
) -> list[StreamEvent]:
    """The events that `read` makes of a part; RAW with the reason or `source` if it fails."""
    try:
        return list(read())
    except NotUnderstood:
        why = source
    except ValidationError as error:
        why = source or f"malformed: {error}"
    return [Raw(scope=scope, raw=raw, source=why)]
