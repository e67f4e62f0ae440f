"""Maps exceptions to error responses: `{"error": {"code", "message", …details}}`, or a sentence.

Rule 1: a client's mistake is reported with the exception's own message.
Rule 2: an internal failure is logged, and the client gets a general message.
Rule 3: what people read is the sentence of the table; messages are for developers and logs.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mobox.errors import (
    BodyTooLarge,
    BranchActive,
    ChatNotFound,
    ConflictError,
    DecisionNotAllowed,
    Fenced,
    FileInUse,
    FileQuotaExceeded,
    FileTooLarge,
    InvalidCursor,
    InvalidRequest,
    KeyReused,
    LinkBusy,
    LinkNotFound,
    LogDeleted,
    MoboxError,
    NotFoundError,
    NotPermitted,
    NotWaiting,
    PermissionNotFound,
    QuotaError,
    RateLimited,
    RunActive,
    SearchTooSlow,
    ShuttingDown,
    StorageError,
    StorageUnavailable,
    TooManyReads,
    TooManyRuns,
    TooManySessions,
    TooManyStreams,
    Unauthenticated,
    UnknownAgent,
    UnknownFramework,
    UnknownProfile,
    UnknownProtocol,
)
from mobox.server.error_body import ErrorResponse, as_sentence

logger = logging.getLogger(__name__)


class ErrorRow(NamedTuple):
    """How an exception is reported; `details` maps names in the body to its attributes."""

    status: int
    code: str
    sentence: str
    """For people: a format string with the exception as `error`."""
    details: Mapping[str, str] = {}
    instead: str | None = None
    """The message for clients where the exception's own message is only logged."""


_BROKEN: Final = "Something went wrong on the server."
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
    InvalidRequest: ErrorRow(
        400, "invalid_request", "The request is not valid: {error}", {"field": "field"}
    ),
    UnknownAgent: ErrorRow(
        400, "unknown_agent", "There is no agent called {error.name!r}.", {"known": "known"}
    ),
    UnknownFramework: ErrorRow(
        400,
        "unknown_framework",
        "There is no framework called {error.name!r}.",
        {"known": "known"},
    ),
    UnknownProfile: ErrorRow(
        400, "unknown_profile", "There is no profile called {error.name!r}.", {"known": "known"}
    ),
    UnknownProtocol: ErrorRow(
        400, "unknown_protocol", "There is no protocol called {error.name!r}.", {"known": "known"}
    ),
    InvalidCursor: ErrorRow(
        400, "bad_cursor", "The stream cannot be resumed from this position.", {"tail": "tail"}
    ),
    DecisionNotAllowed: ErrorRow(
        400,
        "decision_not_allowed",
        "The agent does not accept this answer to its request.",
        {"allowed": "allowed"},
    ),
    Unauthenticated: ErrorRow(
        401, "unauthenticated", "The API key is missing, invalid, revoked or expired."
    ),
    NotPermitted: ErrorRow(
        403,
        "missing_scope",
        "This API key does not allow that: it lacks the scope {error.scope!r}.",
        {"scope": "scope"},
    ),
    ChatNotFound: ErrorRow(404, "not_found", "This chat does not exist."),
    PermissionNotFound: ErrorRow(404, "not_found", "This chat has no such permission."),
    LinkNotFound: ErrorRow(
        404,
        "not_found",
        "This link does not exist: it may have expired, or its chat or itself was deleted.",
    ),
    NotFoundError: ErrorRow(404, "not_found", "There is no such {error.kind}."),
    LogDeleted: ErrorRow(410, "log_deleted", "This chat was deleted."),
    BranchActive: ErrorRow(
        409,
        "run_active",
        "The agent is at work or waits for you here: let it finish or stop it, then change the "
        "branch.",
        {"runId": "run_id"},
    ),
    RunActive: ErrorRow(
        409,
        "run_active",
        "Another answer is still being written in this chat.",
        {"runId": "run_id"},
    ),
    Fenced: ErrorRow(
        409,
        "fenced",
        "This answer has ended, or is continued by another server: reload the chat.",
        {"runId": "run_id"},
    ),
    # draft-ietf-httpapi-idempotency-key-header
    KeyReused: ErrorRow(422, "key_reused", "Another request was already sent with the same key."),
    NotWaiting: ErrorRow(
        409, "not_waiting", "The agent is not waiting for this answer.", {"runId": "run_id"}
    ),
    TooManyRuns: ErrorRow(
        429,
        "too_many_runs",
        "Too many answers are being written at once: try again when one of them is finished.",
    ),
    TooManySessions: ErrorRow(
        429, "too_many_sessions", "Too many chats are open on this connection: leave some of them."
    ),
    TooManyReads: ErrorRow(
        429, "too_many_reads", "Too many chats are being read at once: try again in a moment."
    ),
    TooManyStreams: ErrorRow(
        429, "too_many_streams", "Too many chats are open at once: close some of them."
    ),
    RateLimited: ErrorRow(
        429,
        "too_often",
        "Too many messages in a short time: try again in {error.retry_after} seconds.",
        {"retryAfter": "retry_after"},
    ),
    LinkBusy: ErrorRow(
        429,
        "link_busy",
        "Too many people are reading this at the moment: try again in a minute.",
        {"retryAfter": "retry_after"},
    ),
    BodyTooLarge: ErrorRow(
        413, "body_too_large", "The message is too large: this server accepts at most {error.size}."
    ),
    FileTooLarge: ErrorRow(
        413, "file_too_large", "The file is too large: this server accepts at most {error.size}."
    ),
    FileQuotaExceeded: ErrorRow(
        413,
        "file_quota_exceeded",
        "There is no room left for this file: delete chats with files first.",
    ),
    FileInUse: ErrorRow(409, "file_in_use", "A chat still uses this file."),
    ConflictError: ErrorRow(409, "conflict", "The chat has changed meanwhile: reload it."),
    QuotaError: ErrorRow(429, "quota_exceeded", "A limit is reached: try again later."),
    ShuttingDown: ErrorRow(
        503, "shutting_down", "The server is restarting: try again in a few seconds."
    ),
    SearchTooSlow: ErrorRow(
        503, "search_too_slow", "The search took too long: search for a longer or rarer text."
    ),
    StorageError: ErrorRow(
        503,
        "storage_unavailable",
        "The server cannot use its database at the moment: try again in a few seconds.",
        instead=NO_STORAGE,
    ),
    MoboxError: ErrorRow(500, "internal_error", _BROKEN, instead=_INTERNAL),
}
"""By class; a class that is not listed is reported as its nearest base class."""
OUR_FAULT: Final = {"code": "internal_error", "message": _INTERNAL}


class ErrorReport(NamedTuple):
    """An exception as it is reported: the status, the content of `error`, and its sentence."""

    status: int
    error: dict[str, Any]
    sentence: str

    def response(self) -> Response:
        """The error response."""
        headers = dict(_HEADERS.get(self.status, {}))
        if "retryAfter" in self.error:
            headers["retry-after"] = str(self.error["retryAfter"])
        return ErrorResponse(self.status, self.error, self.sentence, headers)


def error_response(status: int, code: str, message: str, sentence: str | None = None) -> Response:
    """An error response; without a sentence of its own, the message is made one."""
    error = {"code": code, "message": message}
    return ErrorReport(status, error, sentence or as_sentence(message)).response()


def explain(error: Exception, where: str) -> ErrorReport:
    """How an exception is reported. Internal failures are logged, as clients do not see them."""
    row = next(ERROR_TABLE[kind] for kind in type(error).__mro__ if kind in ERROR_TABLE)
    sentence = as_sentence(row.sentence.format(error=error))
    if row.instead is not None:
        if isinstance(error, StorageUnavailable):  # there are many in an outage
            logger.warning("%s: %d, %s", where, row.status, error)
        else:
            logger.error("%s failed", where, exc_info=error)
        return ErrorReport(row.status, {"code": row.code, "message": row.instead}, sentence)
    more = {name: getattr(error, attribute) for name, attribute in row.details.items()}
    known = {name: value for name, value in more.items() if value is not None}
    return ErrorReport(row.status, {"code": row.code, "message": str(error), **known}, sentence)


async def _mobox_error(request: Request, error: Exception) -> Response:
    """Report an exception of mobox."""
    return explain(error, f"{request.method} {request.url.path}").response()


def explain_status(error: HTTPException) -> ErrorReport:
    """How an exception of Starlette is reported: `unauthenticated` for 401, else the phrase."""
    phrase, detail = HTTPStatus(error.status_code).phrase, error.detail
    name = phrase.lower().replace(" ", "_").replace("-", "_")
    code = ERROR_TABLE[Unauthenticated].code if error.status_code == 401 else name
    words = detail if detail and isinstance(detail, str) else phrase  # FastAPI's may be any value
    return ErrorReport(error.status_code, {"code": code, "message": detail}, as_sentence(words))


async def _http_error(request: Request, error: Exception) -> Response:
    """Report an `HTTPException` of Starlette or of an app's hook: no such route, no user."""
    assert isinstance(error, HTTPException)
    response = explain_status(error).response()
    is_login = error.status_code == 401
    response.headers.update({**(_LOGIN if is_login else {}), **(error.headers or {})})
    return response


async def _disconnected(request: Request, error: Exception) -> Response:
    """The client disconnected before it had sent the whole body."""
    return error_response(400, "incomplete", "the connection was closed before the body was sent")


async def _internal_error(request: Request, error: Exception) -> Response:
    """Any other exception. Starlette raises it again, and the server logs its traceback."""
    name = type(error).__name__
    logger.error("%s %s failed: %s, see the next line", request.method, request.url.path, name)
    return ErrorReport(500, OUR_FAULT, _BROKEN).response()


exception_handlers: Final[dict[Any, Callable[[Request, Exception], Awaitable[Response]]]] = {
    MoboxError: _mobox_error,
    HTTPException: _http_error,
    ClientDisconnect: _disconnected,
    Exception: _internal_error,
}
"""For `Starlette(exception_handlers=...)`."""
