"""The errors of Google's APIs."""

from __future__ import annotations

from typing import Any, Final

from mobox.models.simulator.answer import Document, Reply
from mobox.models.simulator.script import Fail

OVERLOADED: Final = 503
"""Google's status where Anthropic's is 529."""
STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    OVERLOADED: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
WORDS: Final = {
    401: "Request had invalid authentication credentials.",
    429: "You exceeded your current quota.",
    OVERLOADED: "The model is overloaded. Please try again later.",
}


def error_of(fail: Fail) -> Document:
    """The error, with the time to wait among its details: Google has no header for it."""
    code = OVERLOADED if fail.status == 529 else fail.status
    status = fail.kind or STATUSES.get(code, "UNKNOWN")
    error: dict[str, Any] = {"code": code, "message": fail.message or WORDS.get(code, status)}
    error["status"] = status
    if fail.retry_after is not None:
        info = {"@type": "type.googleapis.com/google.rpc.RetryInfo"}
        error["details"] = [{**info, "retryDelay": f"{fail.retry_after:g}s"}]
    return error


class Errors:
    """Error responses."""

    def headers(self, _given_id: str) -> dict[str, str]:
        """The headers of every response."""
        return {"server-timing": "gfet4t7; dur=1"}

    def failure(self, fail: Fail, _given_id: str) -> Reply:
        """An error response."""
        error = error_of(fail)
        return Reply(error["code"], {}, {"error": error})
