"""Exceptions of an SDK, as recordings have them: `{"_exception": class name, "str": message}`."""

from __future__ import annotations

from msgspec import Struct, convert, field

from mobox.events import JSON, Error

__all__ = ["TOLD_BEFORE", "class_of", "is_raised", "raised"]

TOLD_BEFORE = "told before"
"""The reason of a RAW for an exception whose error an earlier event reported."""


class _Body(Struct):
    message: str | None = None
    type: str | None = None


class _Response(Struct):
    error: _Body | None = None


class _Raised(Struct):
    name: str | None = field(default=None, name="_exception")
    text: str | None = field(default=None, name="str")
    long_name: str | None = field(default=None, name="__exception__")
    message: str | None = None
    body: JSON = None


def is_raised(raw: dict[str, JSON]) -> bool:
    """Whether this line is an exception."""
    return "_exception" in raw or "__exception__" in raw


def class_of(raw: dict[str, JSON]) -> str | None:
    """The exception's class, without its module."""
    name = raw.get("__exception__", raw.get("_exception"))
    return name.rpartition(".")[2] if isinstance(name, str) else None


def raised(raw: dict[str, JSON]) -> Error:
    """The error that ended the SDK's stream; with the API's own message if there is one."""
    exception = convert(raw, _Raised)
    api = convert(exception.body, _Response).error if isinstance(exception.body, dict) else None
    name = exception.name or exception.long_name
    message = (api.message if api is not None else None) or exception.text or exception.message
    return Error(
        message=message or name or "The agent raised an exception.",
        code=(api.type if api is not None else None) or name,
        provider={"exception": raw},
    )
