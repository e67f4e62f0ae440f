"""Reads parts of JSON values whose types are not guaranteed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, field

from mobox.agent_path.shared.failure_codes import failure_code, is_retryable
from mobox.agent_path.shared.redaction import without_keys
from mobox.errors import UnrecognizedLine
from mobox.events import JSON, Error, Raw, StreamEvent

Object = dict[str, JSON]


def as_object(value: JSON) -> Object:
    """`value` if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: JSON) -> list[Object]:
    """The objects of a list; none if it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def first_text(value: Object, *names: str) -> str | None:
    """The first of these members that is text and not empty."""
    words = (value.get(name) for name in names)
    return next((word for word in words if isinstance(word, str) and word), None)


def as_text(value: JSON) -> str:
    """A value as text: a string as it is, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def is_web_url(address: str) -> bool:
    """Whether this is a URL, and not the name of a document."""
    return address.startswith(("http://", "https://"))


def split_data_url(url: str) -> tuple[str, str] | None:
    """The media type, which may be empty, and the base64 of a data URL; `None` for any other."""
    head, found, data = url.partition(";base64,")
    is_data = found and head.startswith("data:")
    return (head.removeprefix("data:").partition(";")[0], data) if is_data else None


# Makes RAW of a part of a line that cannot be parsed, so that its other parts are not lost.

NOT_SHOWN = "not shown"
"""The reason of a RAW for a line that is known and never shown."""


def parse_or_raw(
    read: Callable[[], Iterable[StreamEvent]],
    raw: JSON,
    scope: tuple[str, ...] = (),
    source: str | None = None,
) -> list[StreamEvent]:
    """The events that `read` makes of a part; RAW with the reason or `source` if it fails."""
    try:
        return list(read())
    except UnrecognizedLine:
        why = source
    except ValidationError as error:
        why = source or f"malformed: {error}"
    return [Raw(scope=scope, raw=raw, source=why)]


# Exceptions of an SDK, as recordings have them: `{"_exception": class name, "str": message}`, with
# its `failure` (code, retryable, retry_after) if the agent's side knew what the exception means.

ALREADY_REPORTED = "told before"
"""The reason of a RAW for an exception whose error an earlier event reported."""


class _Body(Struct):
    message: str | None = None
    type: str | None = None


class _Response(Struct):
    error: _Body | None = None


class _Failure(Struct):
    code: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None


class _Raised(Struct):
    name: str | None = field(default=None, name="_exception")
    text: str | None = field(default=None, name="str")
    long_name: str | None = field(default=None, name="__exception__")
    message: str | None = None
    body: JSON = None
    failure: _Failure | None = None
    traceback: str | None = None


class NoException(Struct, gc=False, kw_only=True):
    """Base of types for lines that are decoded directly: an exception does not fit them."""

    exception: UnsetType = field(default=UNSET, name="_exception")
    long_exception: UnsetType = field(default=UNSET, name="__exception__")


def is_exception(raw: dict[str, JSON]) -> bool:
    """Whether this line is an exception."""
    return "_exception" in raw or "__exception__" in raw


def exception_class(raw: dict[str, JSON]) -> str | None:
    """The exception's class, without its module."""
    name = raw.get("__exception__", raw.get("_exception"))
    return name.rpartition(".")[2] if isinstance(name, str) else None


def failure(message: str, *names: JSON, scope: tuple[str, ...] = ()) -> Error:
    """A provider's error, with its names for what failed, the most exact one first.

    Its code is that of the failure, else the provider's first name.
    """
    given = [str(name) for name in names if isinstance(name, str | int)]
    code = failure_code(given, message, classes=given)
    return Error(
        scope=scope,
        message=without_keys(message),
        code=code or next(iter(given), None),
        retryable=is_retryable(code, given),
    )


def exception_error(raw: dict[str, JSON]) -> Error:
    """The error that ended the SDK's stream; with the API's own message if there is one."""
    exception = convert(raw, _Raised)
    api = convert(exception.body, _Response).error if isinstance(exception.body, dict) else None
    name = exception.name or exception.long_name
    message = (api.message if api is not None else None) or exception.text or exception.message
    failure = exception.failure or _Failure()
    kind = (api.type if api is not None else None) or name
    code = failure.code or _code_of(exception_class(raw), kind)
    return Error(
        message=message or name or "The agent raised an exception.",
        code=code or kind,
        retryable=failure.retryable if failure.code else is_retryable(code),
        retry_after=failure.retry_after,
        stderr_tail=exception.traceback,
        provider={"exception": {name: raw[name] for name in raw if name != "traceback"}},
    )


def _code_of(class_name: str | None, kind: str | None) -> str | None:
    """The code of an exception that came without one, as in a recording."""
    names, classes = filter(None, [kind]), filter(None, [class_name])
    return failure_code(names, classes=classes, is_refusal=False)
