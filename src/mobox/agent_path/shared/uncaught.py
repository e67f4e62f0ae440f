"""Emits the exception that ends an agent, so that its run says why it failed.

A line of the exception is written where `emit_object` would write it. Its code is that of a
provider's failure, else `crashed`; the traceback goes to stderr as ever.
"""

from __future__ import annotations

from typing import Any

from .failures import MOST_MESSAGE, failure_of
from .output import write_line
from .redaction import without_secrets

__all__ = ["CRASHED", "crash_fields", "error_fields", "exception_line", "report"]

CRASHED = "crashed"
MOST_TRACEBACK = 8192
"""Characters of a traceback that are kept in the run's error, the last ones."""
_REPORTED = "_mobox_reported"


def exception_line(error: BaseException) -> dict[str, Any]:
    """The line of an exception, for any parser; its message is without secrets."""
    name, failure = type(error).__name__, failure_of(error)
    if failure is None:
        return {"_exception": name, "str": _words(error)}
    fields = error_fields(error)
    return {"_exception": name, "str": fields.pop("message"), "failure": fields}


def error_fields(error: BaseException) -> dict[str, Any]:
    """The fields of an `error` line for an exception; its message is without secrets."""
    name, failure = type(error).__name__, failure_of(error)
    if failure is None:
        return {"message": _words(error) or name, "code": name}
    about: dict[str, Any] = {"message": failure.message, "code": failure.code}
    about["retryable"] = failure.retryable
    wait = failure.retry_after
    return about if wait is None else {**about, "retry_after": wait}


def _words(error: BaseException) -> str:
    """The exception's own message; notes that a framework added to it are in the traceback."""
    return without_secrets(str(error))[:MOST_MESSAGE]


def _traceback(error: BaseException) -> str:
    import traceback  # rare, and not cheap to import

    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return without_secrets("".join(lines))[-MOST_TRACEBACK:]


def crash_fields(error: BaseException) -> dict[str, Any]:
    """`error_fields` of an exception that ended an agent: one without a code is a crash."""
    if failure_of(error) is not None:
        return error_fields(error)
    name, words = type(error).__name__, _words(error).strip()
    return {"message": f"{name}: {words}" if words else name, "code": CRASHED}


def report(error: BaseException, *, crashed: bool = False) -> None:
    """Emit an exception, once; `crashed` if it ends the process."""
    if getattr(error, _REPORTED, False):
        return
    line = exception_line(error)
    if crashed:
        fields = crash_fields(error)
        line.update(str=fields.pop("message"), failure=fields)
        line["traceback"] = _traceback(error)
    write_line(line)
    try:
        setattr(error, _REPORTED, True)
    except AttributeError:  # an exception without a dict
        return
