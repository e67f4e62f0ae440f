"""Validates request bodies, and the parts of prompts in them, for every protocol.

Rule 1: an invalid body raises `InvalidRequest`, which names the field as the client spells it.
Rule 2: values that cannot be stored are refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

from mobox.errors import InvalidRequest
from mobox.events import JSON
from mobox.events.turn import PromptPart, PromptText

T = TypeVar("T")

_MOST_ID: Final = 500
"""Maximum characters. Ids are database keys, repeated in every index."""

Id = Annotated[str, Meta(min_length=1, max_length=_MOST_ID, pattern=r"^[^\x00-\x1f\x7f]+\Z")]
"""Ids end up in logs, addresses and databases, none of which takes control characters."""

_MAX_QUOTED: Final = 200
"""Maximum characters of a client's value that an error repeats."""

_MISSING: Final = re.compile("Object missing required field `(.+)`")
_UNKNOWN: Final = re.compile("Object contains unknown field `(.*)`", re.DOTALL)


def check_key(idempotency_key: str | None) -> None:
    """Refuse a key that is longer than any id."""
    if len(idempotency_key or "") > _MOST_ID:
        raise InvalidRequest("Idempotency-Key", f"expected at most {_MOST_ID} characters")


def check_storable(body: JSON) -> None:
    """Refuse values that Python can hold and a log cannot."""
    for name, value in body.items() if isinstance(body, dict) else ():
        try:
            msgspec.json.encode({name: value})
        except (RecursionError, ValueError) as error:
            field = name.encode(errors="replace").decode()[:_MAX_QUOTED]
            raise InvalidRequest(field, f"expected JSON that can be stored: {error}") from None


def convert(path: str, value: JSON, wire: type[T]) -> T:
    """The value at `path` of a body, converted to its type."""
    try:
        return msgspec.convert(value, wire)
    except msgspec.ValidationError as error:
        raise _invalid(path, str(error)) from None


def _invalid(path: str, message: str) -> InvalidRequest:
    """The error for msgspec's message about the value at `path`."""
    problem, _, inner = message.partition(" - at `$")
    field = path + inner.removesuffix("`")
    if missing := _MISSING.fullmatch(problem):
        field, problem = f"{field}.{missing[1]}", "expected a value, got none"
    elif unknown := _UNKNOWN.fullmatch(problem):
        field, problem = f"{field}.{unknown[1][:_MAX_QUOTED]}", "expected no such field"
    return InvalidRequest(field.removeprefix("."), problem[0].lower() + problem[1:])


def expected(known: Iterable[str], got: str) -> str:
    """The error text for a value that is not one of the known ones."""
    return f"expected {' or '.join(known)}, got {got[:_MAX_QUOTED]!r}"


class TypedPart(Struct):
    """Any part of a message."""

    type: str


class PromptWire(Protocol):
    """A part of a user's message, as a client sends it."""

    def neutral(self) -> PromptPart: ...


class TextPart(Struct):
    """Text, alike in all protocols."""

    text: str

    def neutral(self) -> PromptPart:
        return PromptText(text=self.text)


def prompt_part(
    path: str, part: JSON, kind: str, wires: Mapping[str, type[PromptWire]]
) -> PromptPart:
    """The part at `path`, whose type is the one of `wires` for its kind."""
    if kind not in wires:
        raise InvalidRequest(f"{path}.type", expected(wires, kind))
    return convert(path, part, wires[kind]).neutral()
