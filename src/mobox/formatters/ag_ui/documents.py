"""AG-UI's events as JSON, the ids in them, and what differs between versions of its client.

Rule 1: an event has no nulls, and its type comes first.
Rule 2: a client appends to a message whose id it knows, so ids must be unique. A thread has many
        runs, whose blocks and calls may have the same ids: on the wire each is prefixed with its
        run's id, `<run>:<id>`. Generated ids have an `@`, so they never equal a framework's id.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

import msgspec

from mobox.events import JSON
from mobox.formatters.values import without_none

Documents = list[bytes]

encode: Final = msgspec.json.Encoder().encode


def event(kind: str, **fields: JSON) -> bytes:
    """One event, without the fields that have no value: clients refuse null."""
    return encode({"type": kind, **without_none(fields)})


def custom(name: str, value: JSON, metadata: dict[str, Any] | None = None) -> bytes:
    """A CUSTOM event: content that AG-UI has no event for, and a page may show live."""
    fields = {"type": "CUSTOM", "name": name, "value": value}
    return encode(fields if metadata is None else {**fields, "metadata": metadata})


def mobox_metadata(about: dict[str, JSON]) -> dict[str, Any] | None:
    """Metadata with the known fields of `about`: clients replace it by key, so it is complete."""
    fields = without_none(about)
    return {"mobox": fields} if fields else None


def delta_prefix(kind: str, id_name: str, wire_id: str) -> bytes:
    """The event of a text delta up to the delta: all that stays the same.

    `delta_prefix(…) + encode(text) + b"}"` is the event.
    """
    return encode({"type": kind, id_name: wire_id})[:-1] + b',"delta":'


def encrypted(subtype: str, wire: str, provider: dict[str, JSON] | None) -> Documents:
    """Vendor state to send back, as the text that the client keeps with its message."""
    if not provider:
        return []
    value = encode(provider).decode()
    return [
        event("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=wire, encryptedValue=value)
    ]


def wire_id(run: str, own: str | None) -> str:
    """The id on the wire of a block, a call, a subagent or a request of a run."""
    return f"{run}:{own}"


def own_id(wire: str) -> tuple[str | None, str]:
    """The run and the own id of an id on the wire; no run if the id is not one of ours."""
    run, colon, own = wire.partition(":")
    return (run, own) if colon else (None, wire)


class WireIds:
    """The ids of one run's messages; live and stored they are generated in the same order."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._used: Counter[str] = Counter()

    def of(self, own: str | None) -> str:
        """The id on the wire of a call, a subagent or a request."""
        return wire_id(self._run, own)

    def owner(self, scope: tuple[str, ...]) -> str | None:
        """The `subagentRunId` of events in `scope`; none for the root agent."""
        return wire_id(self._run, scope[-1]) if scope else None

    def next_message(self, own: str | None) -> str:
        """The id of a new message: a block may be opened again under its id."""
        wire = wire_id(self._run, own)
        self._used[wire] += 1
        return wire if self._used[wire] == 1 else f"{wire}@{self._used[wire]}"

    def result(self, call: str | None) -> str:
        """The id of the message with a call's result."""
        return f"{wire_id(self._run, call)}@result"

    def activity(self, name: str, scope: tuple[str, ...] = ()) -> str:
        """The id of a message that the formatter adds."""
        return wire_id(self._run, "/".join((f"@{name}", *scope[-1:])))


class Profile(NamedTuple):
    """What differs between generations of the `@ag-ui/client`; docs/ag-ui.md has the facts."""

    version: str | None
    """The version in RUN_STARTED; `None` for clients without versions."""
    cancelled: bool
    """A run may end with the outcome `cancelled`."""
    pending_calls: bool
    """The outcome may name the calls that are the client's to run."""
    media_results: bool
    """A tool's result may be a list of parts, not only a string."""
    subagents: bool
    """There are SUBAGENT_* events, and pages show the agent of each message; otherwise text of a
    subagent is reasoning, so that it does not flood the chat."""


DEFAULT: Final = "1.0"

PROFILES: Final[dict[str, Profile]] = {
    "1.0": Profile("1.0", cancelled=True, pending_calls=True, media_results=True, subagents=True),
    "pre-1.0": Profile(
        None, cancelled=False, pending_calls=False, media_results=False, subagents=False
    ),
}
"""By name, the default first. 1.0 is read by 1.0.0 and later, pre-1.0 by 0.0.47 and later."""


def profile_for(protocol_version: str | None) -> str:
    """The profile for a request: clients older than 1.0 send no `protocolVersion`."""
    return "pre-1.0" if protocol_version is None else "1.0"
