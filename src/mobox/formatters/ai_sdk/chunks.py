"""The AI SDK's chunks as JSON bytes that every client accepts.

Rule 1: a key without a value is left out: null in an optional field ends the turn at the client.
Rule 2: no key that its JSON parser refuses as prototype pollution leaves here.
Rule 3: no NaN: the encoder writes null, which is legal wherever a number can be a payload.

See: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from mobox.events import JSON, DoneReason, StreamEvent
from mobox.formatters.values import without_none

DONE = b"[DONE]"
"""The last document; the only one that is not JSON."""

encode = msgspec.json.Encoder().encode
_METADATA = {"providerMetadata", "callProviderMetadata", "resultProviderMetadata"}


def chunk(kind: str, payload: dict[str, JSON] | None = None, **optional: JSON) -> bytes:
    """One chunk: `payload` as it is (null is a value there), `optional` without its nulls."""
    fields: dict[str, Any] = {"type": kind, **optional}
    if None in optional.values():
        fields = without_none(fields)
    if payload is not None:
        fields |= payload
    document = encode(fields)
    return encode(_harmless(fields)) if _is_dangerous(document) else document


def harmless(value: JSON) -> JSON:
    """`value` as a client receives it."""
    return _harmless(value) if _is_dangerous(encode(value)) else value


def _is_dangerous(document: bytes) -> bool:
    # `in` would work, but first checks whether the bytes are a number.
    return document.find(b"__proto__") >= 0 or document.find(b'"constructor"') >= 0


def data(name: str, value: JSON, part_id: str | None = None, transient: bool = False) -> bytes:
    """A data part; one with an id replaces the part of that id, a transient one is not kept."""
    return chunk(f"data-{name}", payload={"data": value}, id=part_id, transient=transient or None)


def scope(event: StreamEvent) -> dict[str, JSON]:
    """The member of `mobox` that names the emitting subagent."""
    return {"scope": list(event.scope)} if event.scope else {}


def delta_prefix(kind: str, id_name: str, block_id: str, text_name: str) -> bytes:
    """A delta chunk up to its text: all that stays the same while a part is open.

    `delta_prefix(…) + encode(text) + b"}"` is the chunk.
    """
    opening = encode({"type": kind, id_name: block_id})
    return b'%b,"%b":' % (opening[:-1], text_name.encode())


def _harmless(value: JSON, in_metadata: bool = False) -> JSON:
    if isinstance(value, dict):
        return {
            _harmless_key(key, child, in_metadata): _harmless(
                child, in_metadata or key in _METADATA
            )
            for key, child in value.items()
        }
    if isinstance(value, list | tuple):
        return [_harmless(child, in_metadata) for child in value]
    return value


def _harmless_key(key: str, child: JSON, in_metadata: bool) -> str:
    # In metadata the client's schema refuses objects with a `constructor` key.
    constructs = in_metadata or (isinstance(child, dict) and "prototype" in child)
    is_harmful = key == "__proto__" or (key == "constructor" and constructs)
    return f"({key})" if is_harmful else key


# What differs between generations of the `ai` client. Facts: docs/ai-sdk.md.


class Profile(NamedTuple):
    """The flags of one generation."""

    finish_reasons: dict[DoneReason, str] | None
    """The reasons that `finish` may have; `None` where the client refuses the key."""
    abort_reason: bool = True
    """`abort` may carry a reason."""
    approvals: bool = True
    """There are tool-approval-request chunks."""
    answers: bool = False
    """There are tool-approval-response chunks, so a denied call can be sent as denied; and a
    request may have a reason."""
    file_metadata: bool = True
    """The client keeps the metadata of files."""
    error_metadata: bool = True
    """The client keeps the metadata of a broken input, under the call's result."""
    resets: bool = False
    """There are reset-step chunks, which retract everything since start-step."""
    early_tool_metadata: bool = False
    """tool-input-start may carry metadata."""


_REASONS: dict[DoneReason, str] = {
    "stop": "stop",
    "tool": "tool-calls",
    "length": "length",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "max_turns": "other",
    "cancelled": "other",
    "truncated": "other",
    "interrupted": "other",
    "lost": "error",
    "error": "error",
}

DEFAULT: Final = "v6"

PROFILES: Final[dict[str, Profile]] = {
    "v6": Profile(_REASONS),
    "v5": Profile(
        None, abort_reason=False, approvals=False, file_metadata=False, error_metadata=False
    ),
    "v7": Profile(
        {**_REASONS, "interrupted": "interrupted"},
        answers=True,
        resets=True,
        early_tool_metadata=True,
    ),
}
"""By name, the default first. v5 is read by 5.0.60 and later, v6 by 6.0.37 and later and by 7."""
