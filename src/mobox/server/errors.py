"""What the server says when it refuses: `{"error": {"code", "message"}}`, and what is known beside.

Rule 1: what the caller did wrong is explained in the words of the exception.
Rule 2: what went wrong in here is logged, and not told.
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
    BadCursor,
    DecisionNotAllowed,
    Fenced,
    InvalidRequest,
    KeyReused,
    LogDeleted,
    MoboxError,
    NotFound,
    NotPermitted,
    NotWaiting,
    RunActive,
    ShuttingDown,
    StorageError,
    TooManyRuns,
    TooManySessions,
    TooManyStreams,
    TooOften,
    Unauthenticated,
    UnknownAgent,
    UnknownProfile,
    UnknownProtocol,
)

__all__ = [
    "ANSWERS",
    "NO_STORAGE",
    "OUR_FAULT",
    "Answer",
    "Told",
    "error_response",
    "exception_handlers",
    "explain",
    "explain_status",
]

logger = logging.getLogger(__name__)


class Answer(NamedTuple):
    """How an exception is told: `told` maps names in the answer to attributes of the exception."""

    status: int
    code: str
    told: Mapping[str, str] = {}
    instead: str | None = None
    """What is said where the exception's own words are only for the log."""


_INTERNAL: Final = "something went wrong in the server; its log says what"
NO_STORAGE: Final = "the storage cannot be used now; the log of the server says why"

_LOGIN: Final = {"www-authenticate": 'Bearer realm="app"'}
"""Of the app that says who asks: no key of ours is asked for. Our page goes by it."""
RETRY_AFTER: Final = "5"
_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"www-authenticate": 'Bearer realm="mobox"'},
    429: {"retry-after": RETRY_AFTER},
    503: {"retry-after": RETRY_AFTER},  # it may be over in some seconds
}

ANSWERS: Final[Mapping[type[MoboxError], Answer]] = {
    InvalidRequest: Answer(400, "invalid_request", {"field": "field"}),
    UnknownAgent: Answer(400, "unknown_agent", {"known": "known"}),
    UnknownProfile: Answer(400, "unknown_profile", {"known": "known"}),
    UnknownProtocol: Answer(400, "unknown_protocol", {"known": "known"}),
    BadCursor: Answer(400, "bad_cursor", {"tail": "tail"}),
    DecisionNotAllowed: Answer(400, "decision_not_allowed", {"allowed": "allowed"}),
    Unauthenticated: Answer(401, "unauthenticated"),
    NotPermitted: Answer(403, "missing_scope", {"scope": "scope"}),
    NotFound: Answer(404, "not_found"),
    LogDeleted: Answer(410, "log_deleted"),
    RunActive: Answer(409, "run_active", {"runId": "run_id"}),
    Fenced: Answer(409, "fenced", {"runId": "run_id"}),
    KeyReused: Answer(422, "key_reused"),  # as draft-ietf-httpapi-idempotency-key-header says
    NotWaiting: Answer(409, "not_waiting", {"runId": "run_id"}),
    TooManyRuns: Answer(429, "too_many_runs"),
    TooManySessions: Answer(429, "too_many_sessions"),
    TooManyStreams: Answer(429, "too_many_streams"),
    TooOften: Answer(429, "too_often", {"retryAfter": "retry_after"}),
    ShuttingDown: Answer(503, "shutting_down"),
    StorageError: Answer(503, "storage_unavailable", instead=NO_STORAGE),
    MoboxError: Answer(500, "internal_error", instead=_INTERNAL),
}
"""By class; a class that is not here is told as the nearest one above it."""
OUR_FAULT: Final = {"code": "internal_error", "message": _INTERNAL}


class Told(NamedTuple):
    """An exception as it is told: the status over HTTP, and what is in `error`."""

    status: int
    error: dict[str, Any]


def error_response(status: int, code: str, message: str, **more: Any) -> Response:
    """An answer that says what is wrong."""
    body = {"error": {"code": code, "message": message, **more}}
    headers = dict(_HEADERS.get(status, {}))
    if "retryAfter" in more:
        headers["retry-after"] = str(more["retryAfter"])
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")


def explain(error: Exception, where: str) -> Told:
    """How an exception is told. What went wrong in here goes no further, so it is logged."""
    answer = next(ANSWERS[kind] for kind in type(error).__mro__ if kind in ANSWERS)
    if answer.instead is not None:
        logger.error("%s failed", where, exc_info=error)
        return Told(answer.status, {"code": answer.code, "message": answer.instead})
    more = {name: getattr(error, attribute) for name, attribute in answer.told.items()}
    known = {name: value for name, value in more.items() if value is not None}
    return Told(answer.status, {"code": answer.code, "message": str(error), **known})


async def _tell(request: Request, error: Exception) -> Response:
    """What mobox raised."""
    status, body = explain(error, f"{request.method} {request.url.path}")
    return error_response(status, **body)


def explain_status(error: HTTPException) -> Told:
    """How an exception of Starlette's is told: its code is ours for 401, else the status' name."""
    name = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
    code = ANSWERS[Unauthenticated].code if error.status_code == 401 else name
    return Told(error.status_code, {"code": code, "message": error.detail})


async def _tell_status(request: Request, error: Exception) -> Response:
    """What Starlette raised, or an app that says who asks: no such route, nobody known."""
    assert isinstance(error, HTTPException)
    status, body = explain_status(error)
    response = error_response(status, **body)
    response.headers.update({**(_LOGIN if status == 401 else {}), **(error.headers or {})})
    return response


async def _tell_nobody(request: Request, error: Exception) -> Response:
    """The client left before it had said everything."""
    return error_response(400, "incomplete", "the request ended before its body did")


async def _hide(request: Request, error: Exception) -> Response:
    """Anything else. Starlette raises it again, and the server logs it."""
    return error_response(500, **OUR_FAULT)


exception_handlers: Final[dict[Any, Callable[[Request, Exception], Awaitable[Response]]]] = {
    MoboxError: _tell,
    HTTPException: _tell_status,
    ClientDisconnect: _tell_nobody,
    Exception: _hide,
}
"""For `Starlette(exception_handlers=...)`."""
