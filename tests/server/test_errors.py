"""What a client is told of an exception."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import fastapi
import httpx
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

import mobox.errors
from mobox.errors import (
    ChatNotFound,
    CorruptLog,
    DatabaseTooNew,
    Fenced,
    InvalidCursor,
    InvalidRequest,
    KeyReused,
    LogDeleted,
    MoboxError,
    NotWaiting,
    ProtocolError,
    RateLimited,
    RunActive,
    RunNotFound,
    ShuttingDown,
    StorageError,
    StorageUnavailable,
    TooManyRuns,
    UnknownAgent,
    UnknownProfile,
    UnknownProtocol,
)
from mobox.server.error_body import as_sentence, prefers_json
from mobox.server.errors import ERROR_TABLE, NO_STORAGE, exception_handlers, explain
from server.serving import client_of


def app_that_raises(error: Exception) -> Starlette:
    async def endpoint(request: Request) -> Response:
        raise error

    return Starlette(routes=[Route("/", endpoint)], exception_handlers=exception_handlers)


async def answer_to(error: Exception) -> httpx.Response:
    async with client_of(app_that_raises(error)) as client:
        return await client.get("/")


@pytest.mark.parametrize(
    ("error", "status", "code", "more"),
    [
        (InvalidRequest("messages[0].id", "is missing"), 400, "invalid_request",
         {"field": "messages[0].id"}),
        (UnknownAgent("x", ["demo"]), 400, "unknown_agent", {"known": ["demo"]}),
        (UnknownProfile("x", ["v6"]), 400, "unknown_profile", {"known": ["v6"]}),
        (UnknownProtocol("x", ["ai-sdk"]), 400, "unknown_protocol", {"known": ["ai-sdk"]}),
        (InvalidCursor("9.0", 7), 400, "bad_cursor", {"tail": 7}),
        (InvalidCursor("x"), 400, "bad_cursor", {}),
        (ChatNotFound("c"), 404, "not_found", {}),
        (RunNotFound("r"), 404, "not_found", {}),
        (LogDeleted("r"), 410, "log_deleted", {}),
        (RunActive("r"), 409, "run_active", {"runId": "r"}),
        (Fenced("r", 2), 409, "fenced", {"runId": "r"}),
        (KeyReused("k"), 422, "key_reused", {}),
        (NotWaiting("r"), 409, "not_waiting", {"runId": "r"}),
        (TooManyRuns(3), 429, "too_many_runs", {}),
        (ShuttingDown(), 503, "shutting_down", {}),
        (HTTPException(404), 404, "not_found", {}),
        (HTTPException(405, "Only GET"), 405, "method_not_allowed", {}),
    ],
)  # fmt: skip
async def test_errors_of_the_caller_are_explained(
    error: Exception, status: int, code: str, more: dict[str, Any]
) -> None:
    response = await answer_to(error)
    message = error.detail if isinstance(error, HTTPException) else str(error)
    assert response.status_code == status
    assert response.json() == {"error": {"code": code, "message": message, **more}}
    assert ("retry-after" in response.headers) == (status in (429, 503))


SECRETS: list[Callable[[], tuple[Exception, int, str]]] = [
    lambda: (StorageError("secret"), 503, "storage_unavailable"),
    lambda: (DatabaseTooNew(4, 3), 503, "storage_unavailable"),
    lambda: (ProtocolError("secret"), 500, "internal_error"),
    lambda: (CorruptLog("secret"), 500, "internal_error"),
    lambda: (MoboxError("secret"), 500, "internal_error"),
    lambda: (ValueError("secret"), 500, "internal_error"),
]


@pytest.mark.parametrize("case", SECRETS)
async def test_internal_errors_are_logged_once_and_not_sent(
    case: Callable[[], tuple[Exception, int, str]], caplog: pytest.LogCaptureFixture
) -> None:
    error, status, code = case()
    response = await answer_to(error)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert str(error) not in response.text
    [record] = [record for record in caplog.records if record.exc_info]
    assert record.exc_info and record.exc_info[1] is error
    assert "endpoint" in caplog.text  # the traceback is there


async def test_unavailable_database_is_logged_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = await answer_to(StorageUnavailable())
    assert (response.status_code, response.json()["error"]["message"]) == (503, NO_STORAGE)
    [record] = [record for record in caplog.records if record.name == "mobox.server.errors"]
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage() == f"GET /: 503, {StorageUnavailable()}"


async def test_unexpected_exception_is_logged_with_the_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert (await answer_to(ValueError("odd"))).status_code == 500
    assert "GET / failed: ValueError" in caplog.text


async def test_a_client_that_left_is_no_error_of_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert (await answer_to(ClientDisconnect())).status_code == 400
    assert not [record for record in caplog.records if record.exc_info]


async def test_wrong_method_gets_the_allowed_ones() -> None:
    async with client_of(app_that_raises(ValueError())) as client:
        response = await client.post("/")
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert response.headers["content-type"] == "application/json"


def test_every_exception_of_mobox_has_an_answer() -> None:
    kinds = [kind for kind in vars(mobox.errors).values() if isinstance(kind, type)]
    found = [kind for kind in kinds if issubclass(kind, MoboxError)]
    assert len(found) > 10
    assert all(any(base in ERROR_TABLE for base in kind.__mro__) for kind in found)


@pytest.mark.parametrize("family", [mobox.errors.ConflictError, mobox.errors.QuotaError])
def test_error_without_a_row_is_reported_as_its_family(family: type[MoboxError]) -> None:
    assert explain(family("because"), "here").status in (409, 429)


# Sentences for people


@pytest.mark.parametrize("kind", ERROR_TABLE, ids=lambda kind: kind.__name__)
def test_every_row_has_one_sentence_for_people(kind: type[MoboxError]) -> None:
    row = ERROR_TABLE[kind]
    assert re.fullmatch(r"[A-Z][^\n]+(\.|: \{error\})", row.sentence)
    assert ". " not in row.sentence
    assert row.code not in row.sentence


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RunActive("run_1"), "Another answer is still being written in this chat."),
        (ChatNotFound("c"), "This chat does not exist."),
        (RunNotFound("r"), "There is no such run."),
        (InvalidRequest("id", "{is} wrong"), "The request is not valid: id: {is} wrong."),
        (RateLimited(60, 3), "Too many messages in a short time: try again in 3 seconds."),
        (StorageError("secret"), ERROR_TABLE[StorageError].sentence),
    ],
)
def test_sentence_has_what_helps_a_person(error: MoboxError, sentence: str) -> None:
    assert explain(error, "here").sentence == sentence


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", True),
        ("text/event-stream, Application/JSON", True),
        ("application/json, text/plain, */*", True),
        ("text/plain, application/json", False),
        ("text/plain;q=0.5, application/json", True),
        ("application/json;q=0.5, text/plain;q=0.9", False),
        ("application/json;q=0", False),
        ("application/json;q=much", False),
        ("text/html", False),
    ],
)
def test_json_is_sent_to_those_who_prefer_it(accept: str, expected: bool) -> None:
    assert prefers_json(accept) is expected


@pytest.mark.parametrize(
    ("message", "sentence"),
    [("not found", "Not found."), ("Why?", "Why?"), (" It is.\n", "It is.")],
)
def test_message_becomes_a_sentence(message: str, sentence: str) -> None:
    assert as_sentence(message) == sentence


async def test_error_of_another_app_need_not_be_text() -> None:
    problem = fastapi.HTTPException(418, {"why": "FastAPI allows any value"})
    response = await answer_to(problem)
    assert response.json()["error"]["message"] == problem.detail
