"""Reads the fields of a request's body; a wrong one is an error that names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from mobox.errors import InvalidRequest
from mobox.models.simulator.request import Message

T = TypeVar("T")

NAMES = {list: "a list", dict: "an object", str: "a string", int: "a number"}


def required(body: dict[str, Any], name: str, kind: type[T]) -> T:
    """A field that must be there."""
    if body.get(name) is None:
        raise InvalidRequest(name, "Field required")
    return checked(body[name], name, kind)


def optional(body: dict[str, Any], name: str, kind: type[T], default: T) -> T:
    """A field that may be missing or null."""
    value = body.get(name)
    return default if value is None else checked(value, name, kind)


def checked(value: Any, name: str, kind: type[T]) -> T:
    """The value, if it has the type that the field has."""
    if not isinstance(value, kind):
        raise InvalidRequest(name, f"expected {NAMES[kind]}")
    return value


def objects(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects, which may be missing."""
    return [
        checked(each, f"{name}.{place}", dict)
        for place, each in enumerate(optional(body, name, list, []))
    ]


def check_calls(messages: Iterable[Message], unanswered: str, unknown: str) -> None:
    """Reject a conversation in which a call has no result, or a result no call, as providers do.

    `unanswered` and `unknown` are the provider's words, with a place for the id.
    """
    waiting: dict[str, int] = {}
    last = ""
    for place, message in enumerate(messages):
        for result in message.results:
            if waiting.pop(result.id, None) is None:
                raise InvalidRequest(f"messages.{place}", unknown.format(result.id))
        continues = message.role == "assistant" and last != "user"
        if waiting and not continues and (message.role == "assistant" or message.text):
            raise InvalidRequest(f"messages.{place}", unanswered.format(next(iter(waiting))))
        for call in message.calls:
            waiting[call.id] = place
        last = message.role
    if waiting:
        call_id, place = next(iter(waiting.items()))
        raise InvalidRequest(f"messages.{place}", unanswered.format(call_id))
