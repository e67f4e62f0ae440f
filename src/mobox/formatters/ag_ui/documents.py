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
    """What AG-UI has no event for, and a page may want to show while it happens."""
    told = {"type": "CUSTOM", "name": name, "value": value}
    return encode(told if metadata is None else {**told, "metadata": metadata})


def application(told: Custom) -> bytes:
    """What an application tells in its own words; one with an id replaces what had it before."""
    return custom(told.name, told.value, mobox_metadata({"id": told.id}))


def status(told: Status) -> bytes:
    """A line on what the agent is busy with."""
    return custom("mobox.status", {"message": told.message, "kind": told.kind})


def mobox_metadata(about: dict[str, JSON]) -> dict[str, Any] | None:
    """Metadata with what is known of `about`: clients replace it key by key, so always whole."""
    told = known(about)
    return {"mobox": told} if told else None


def delta_prefix(kind: str, id_name: str, wire_id: str) -> bytes:
    """An event of a piece of text up to the piece: all that stays the same.

    `delta_prefix(…) + encode(text) + b"}"` is the event.
    """
    return encode({"type": kind, id_name: wire_id})[:-1] + b',"delta":'
