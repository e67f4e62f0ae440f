"""Maps exceptions to error responses: `{"error": {"code", "message", …details}}`.

Rule 1: a client's mistake is reported with the exception's own message.
Rule 2: an internal failure is logged, and the client gets a general message.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mobox.errors import (
    BodyTooLarge,
    ConflictError,
    DecisionNotAllowed,
    Fenced,
    FileInUse,
    FileQuotaExceeded,
    FileTooLarge,
    InvalidCursor,
    InvalidRequest,
    KeyReused,
    LogDeleted,
    MoboxError,
    NotFoundError,
    NotPermitted,
    NotWaiting,
    QuotaError,
    RateLimited,
    RunActive,
    ShuttingDown,
    StorageError,
    StorageUnavailable,
    TooManyRuns,
    TooManySessions,
    TooManyStreams,
    Unauthenticated,
    UnknownAgent,
    UnknownProfile,
    UnknownProtocol,
)

logger = logging.getLogger(__name__)


class ErrorRow(NamedTuple):
    """How an exception is reported; `details` maps names in the body to its attributes."""

    status: int
    code: str
    details: Mapping[str, str] = {}
    instead: str | None = None
    """The message for clients where the exception's own message is only logged."""


_INTERNAL: Final = "internal server error; see the server's log"
NO_STORAGE: Final = "the database is unavailable; see the server's log, or retry later"

_LOGIN: Final = {"www-authenticate": 'Bearer realm="app"'}
"""For an app's own authentication: Mobox's page asks for the app's token, not for a Mobox key."""
RETRY_AFTER: Final = "5"
_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"www-authenticate": 'Bearer realm="mobox"'},
    429: {"retry-after": RETRY_AFTER},
    503: {"retry-after": RETRY_AFTER},  # it may work again in some seconds
}

ERROR_TABLE: Final[Mapping[type[MoboxError], ErrorRow]] = {
    InvalidRequest: ErrorRow(400, "invalid_request", {"field": "field"}),
    UnknownAgent: ErrorRow(400, "unknown_agent", {"known": "known"}),
    UnknownProfile: ErrorRow(400, "unknown_profile", {"known": "known"}),
    UnknownProtocol: ErrorRow(400, "unknown_protocol", {"known": "known"}),
    InvalidCursor: ErrorRow(400, "bad_cursor", {"tail": "tail"}),
    DecisionNotAllowed: ErrorRow(400, "decision_not_allowed", {"allowed": "allowed"}),
    Unauthenticated: ErrorRow(401, "unauthenticated"),
    NotPermitted: ErrorRow(403, "missing_scope", {"scope": "scope"}),
    NotFoundError: ErrorRow(404, "not_found"),
    LogDeleted: ErrorRow(410, "log_deleted"),
    RunActive: ErrorRow(409, "run_active", {"runId": "run_id"}),
    Fenced: ErrorRow(409, "fenced", {"runId": "run_id"}),
    KeyReused: ErrorRow(422, "key_reused"),  # draft-ietf-httpapi-idempotency-key-header
    NotWaiting: ErrorRow(409, "not_waiting", {"runId": "run_id"}),
    TooManyRuns: ErrorRow(429, "too_many_runs"),
    TooManySessions: ErrorRow(429, "too_many_sessions"),
    TooManyStreams: ErrorRow(429, "too_many_streams"),
    RateLimited: ErrorRow(429, "too_often", {"retryAfter": "retry_after"}),
    BodyTooLarge: ErrorRow(413, "body_too_large"),
    FileTooLarge: ErrorRow(413, "file_too_large"),
    FileQuotaExceeded: ErrorRow(413, "file_quota_exceeded"),
    FileInUse: ErrorRow(409, "file_in_use"),
    ConflictError: ErrorRow(409, "conflict"),
    QuotaError: ErrorRow(429, "quota_exceeded"),
    ShuttingDown: ErrorRow(503, "shutting_down"),
    StorageError: ErrorRow(503, "storage_unavailable", instead=NO_STORAGE),
    MoboxError: ErrorRow(500, "internal_error", instead=_INTERNAL),
}
"""By class; a class that is not listed is reported as its nearest base class."""
OUR_FAULT: Final = {"code": "internal_error", "message": _INTERNAL}


class ErrorReport(NamedTuple):
    """An exception as it is reported: the HTTP status, and the content of `error`."""

    status: int
    error: dict[str, Any]


def error_response(status: int, code: str, message: str, **more: Any) -> Response:
    """An error response."""
    body = {"error": {"code": code, "message": message, **more}}
    headers = dict(_HEADERS.get(status, {}))
    if "retryAfter" in more:
        headers["retry-after"] = str(more["retryAfter"])
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")


def explain(error: Exception, where: str) -> ErrorReport:
    """How an exception is reported. Internal failures are logged, as clients do not see them."""
    row = next(ERROR_TABLE[kind] for kind in type(error).__mro__ if kind in ERROR_TABLE)
    if row.instead is not None:
        if isinstance(error, StorageUnavailable):  # there are many in an outage
            logger.warning("%s: %d, %s", where, row.status, error)
        else:
            logger.error("%s failed", where, exc_info=error)
        return ErrorReport(row.status, {"code": row.code, "message": row.instead})
    more = {name: getattr(error, attribute) for name, attribute in row.details.items()}
    known = {name: value for name, value in more.items() if value is not None}
    return ErrorReport(row.status, {"code": row.code, "message": str(error), **known})


async def _mobox_error(request: Request, error: Exception) -> Response:
    """Report an exception of mobox."""
    status, body = explain(error, f"{request.method} {request.url.path}")
    return error_response(status, **body)


def explain_status(error: HTTPException) -> ErrorReport:
    """How an exception of Starlette is reported: `unauthenticated` for 401, else the phrase."""
    name = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
    code = ERROR_TABLE[Unauthenticated].code if error.status_code == 401 else name
    return ErrorReport(error.status_code, {"code": code, "message": error.detail})


async def _http_error(request: Request, error: Exception) -> Response:
    """Report an `HTTPException` of Starlette or of an app's hook: no such route, no user."""
    assert isinstance(error, HTTPException)
    status, body = explain_status(error)
    response = error_response(status, **body)
    response.headers.update({**(_LOGIN if status == 401 else {}), **(error.headers or {})})
    return response


async def _disconnected(request: Request, error: Exception) -> Response:
    """The client disconnected before it had sent the whole body."""
    return error_response(400, "incomplete", "the connection was closed before the body was sent")


async def _internal_error(request: Request, error: Exception) -> Response:
    """Any other exception. Starlette raises it again, and the server logs its traceback."""
    name = type(error).__name__
    logger.error("%s %s failed: %s, see the next line", request.method, request.url.path, name)
    return error_response(500, **OUR_FAULT)


exception_handlers: Final[dict[Any, Callable[[Request, Exception], Awaitable[Response]]]] = {
    MoboxError: _mobox_error,
    HTTPException: _http_error,
    ClientDisconnect: _disconnected,
    Exception: _internal_error,
}
"""For `Starlette(exception_handlers=...)`."""
