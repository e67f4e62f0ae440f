"""Emits the exception that ends an agent, so that its run says why it failed.

A line of the exception is written where `emit_object` would write it. Its code is that of a
provider's failure, else `crashed`; the traceback goes to stderr as ever.
"""

from __future__ import annotations

from typing import Any

from .failures import failure_of
from .output import is_told_elsewhere, write_line
from .redaction import without_secrets

__all__ = ["CRASHED", "error_fields", "exception_line", "report"]

CRASHED = "crashed"
MOST_TRACEBACK = 8192
"""Characters of a traceback that are kept in the run's error, the last ones."""
_REPORTED = "_mobox_reported"


def exception_line(error: BaseException) -> dict[str, Any]:
    """The line of an exception, for any parser; its message is without secrets."""
    name, failure = type(error).__name__, failure_of(error)
    if failure is None:
        return {"_exception": name, "str": without_secrets(str(error))}
    fields = error_fields(error)
    return {"_exception": name, "str": fields.pop("message"), "failure": fields}


def error_fields(error: BaseException) -> dict[str, Any]:
    """The fields of an `error` line for an exception; its message is without secrets."""
    name, failure = type(error).__name__, failure_of(error)
    if failure is None:
        return {"message": without_secrets(str(error)) or name, "code": name}
    # A program's readers are not shown the words of its SDKs: capture/callable.py.
    message = failure.sentence if is_told_elsewhere() else failure.message
    about = {"message": message, "code": failure.code, "retryable": failure.retryable}
    wait = failure.retry_after
    return about if wait is None else {**about, "retry_after": wait}


def _traceback(error: BaseException) -> str:
    import traceback  # rare, and not cheap to import

    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return without_secrets("".join(lines))[-MOST_TRACEBACK:]


def report(error: BaseException, *, crashed: bool = False) -> None:
    """Emit an exception, once; `crashed` if it ends the process."""
    if getattr(error, _REPORTED, False):
        return
    line = exception_line(error)
    if crashed and "failure" not in line:
        words = line["str"].strip()
        line["str"] = f"{line['_exception']}: {words}" if words else line["_exception"]
        line["failure"] = {"code": CRASHED}
    if crashed:
        line["traceback"] = _traceback(error)
    write_line(line)
    try:
        setattr(error, _REPORTED, True)
    except AttributeError:  # an exception without a dict
        return
