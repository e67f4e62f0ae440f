"""The JSON of AG-UI's events: no nulls, and the type first."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mobox.events import JSON, Custom, Status
from mobox.formatters.fields import known

__all__ = [
    "Documents",
    "application",
    "custom",
    "delta_prefix",
    "encode",
    "event",
    "mobox_metadata",
    "status",
]

Documents = list[bytes]

encode: Final = msgspec.json.Encoder().encode


def event(kind: str, **fields: JSON) -> bytes:
    """One event, without the fields that have no value: clients refuse null."""
    return encode({"type": kind, **known(fields)})


def custom(name: str, value: JSON, metadata: dict[str, Any] | None = None) -> bytes:
    """A CUSTOM event: content that AG-UI has no event for, and a page may show live."""
    fields = {"type": "CUSTOM", "name": name, "value": value}
    return encode(fields if metadata is None else {**fields, "metadata": metadata})


def application(custom_event: Custom) -> bytes:
    """An application's own event; one with an id replaces the earlier event of that id."""
    return custom(custom_event.name, custom_event.value, mobox_metadata({"id": custom_event.id}))


def status(status_event: Status) -> bytes:
    """A status line of the agent."""
    return custom("mobox.status", {"message": status_event.message, "kind": status_event.kind})


def mobox_metadata(about: dict[str, JSON]) -> dict[str, Any] | None:
    """Metadata with the known fields of `about`: clients replace it by key, so it is complete."""
    fields = known(about)
    return {"mobox": fields} if fields else None


def delta_prefix(kind: str, id_name: str, wire_id: str) -> bytes:
    """The event of a text delta up to the delta: all that stays the same.

    `delta_prefix(…) + encode(text) + b"}"` is the event.
    """
    return encode({"type": kind, id_name: wire_id})[:-1] + b',"delta":'
