"""The AI SDK's chunks as JSON bytes that every client accepts.

Rule 1: a key without a value is left out: null in an optional field ends the turn at the client.
Rule 2: no key that its JSON parser refuses as prototype pollution leaves here.
Rule 3: no NaN: the encoder writes null, which is legal wherever a number can be a payload.

See: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
"""

from __future__ import annotations

from typing import Any

import msgspec

from mobox.events import JSON, StreamEvent

__all__ = ["DONE", "chunk", "data", "known", "scope", "text_prefix", "text_suffix"]

DONE = b"[DONE]"
"""The last document; the only one that is not JSON."""

_encode = msgspec.json.Encoder().encode


def chunk(kind: str, payload: dict[str, JSON] | None = None, **optional: JSON) -> bytes:
    """One chunk: `payload` as it is (null is a value there), `optional` without its nulls."""
    fields: dict[str, Any] = {"type": kind, **known(optional), **(payload or {})}
    document = _encode(fields)
    if b"__proto__" in document or b'"constructor"' in document:
        return _encode(_harmless(fields))
    return document


def data(name: str, value: JSON, part_id: str | None = None, transient: bool = False) -> bytes:
    """A data part; one with an id replaces what was said under it, a transient one is not kept."""
    return chunk(f"data-{name}", payload={"data": value}, id=part_id, transient=transient or None)


def known(fields: dict[str, JSON]) -> dict[str, JSON]:
    """`fields` without those that have no value."""
    return {name: value for name, value in fields.items() if value is not None}


def scope(event: StreamEvent) -> dict[str, JSON]:
    """The member of `mobox` that says which subagent speaks."""
    return {"scope": list(event.scope)} if event.scope else {}


def text_prefix(kind: str, id_name: str, block_id: str, text_name: str) -> bytes:
    """A delta chunk up to its text: all that stays the same while a part is open."""
    opening = _encode({"type": kind, id_name: block_id})
    return b'%b,"%b":' % (opening[:-1], text_name.encode())


def text_suffix(text: str) -> bytes:
    """The rest of the chunk that `text_prefix` began."""
    return b"%b}" % _encode(text)


def _harmless(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {_harmless_key(key, child): _harmless(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_harmless(child) for child in value]
    return value


def _harmless_key(key: str, child: JSON) -> str:
    if key == "__proto__" or (
        key == "constructor" and isinstance(child, dict) and "prototype" in child
    ):
        return f"({key})"
    return key
