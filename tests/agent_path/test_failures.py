"""What an exception says about a provider; tests/frameworks/test_clients.py has the real ones."""

from __future__ import annotations

from typing import Any

import pytest

from mobox.agent_path.shared.failure_codes import (
    CLASSES,
    CODES,
    NAMES,
    STATUSES,
    failure_code,
    sentence_of,
)
from mobox.agent_path.shared.failures import Failure, StreamCut, failure_of
from mobox.agent_path.shared.objects import Objects
from mobox.agent_path.shared.redaction import without_secrets


class Response:
    def __init__(self, **headers: str) -> None:
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def raised(*names: str, message: str = "no", **fields: Any) -> Exception:
    """An exception of classes with these names, the last is the first of its bases."""
    kind: type[Exception] = Exception
    for name in names:
        kind = type(name, (kind,), {})
    error = kind(message)
    for name, value in fields.items():
        setattr(error, name, value)
    return error


def body(**error: Any) -> dict[str, Any]:
    return {"type": "error", "error": error}


FAILURES = [
    (raised("APIStatusError", "RateLimitError", status_code=429), "rate_limited"),
    (raised("APIStatusError", status_code=200, body=body(type="overloaded_error")), "overloaded"),
    (raised("APIStatusError", status_code=529), "overloaded"),
    (raised("APIStatusError", status_code=500), "overloaded"),
    (raised("APIStatusError", "AuthenticationError", status_code=401), "auth"),
    (raised("APIError", "ClientError", code=429, status="RESOURCE_EXHAUSTED"), "rate_limited"),
    (raised("APIError", "ServerError", code=503, status="UNAVAILABLE"), "overloaded"),
    (raised("APIError", code="insufficient_quota", status_code=429), "budget"),
    (raised("APIError", code="context_length_exceeded", status_code=400), "context_length"),
    (
        raised("BadRequestError", status_code=400, message="prompt is too long: 9 > 8"),
        "context_length",
    ),
    (raised("ContentFilterFinishReasonError"), "content_filter"),
    (raised("APIConnectionError", "APITimeoutError"), "timeout"),
    (raised("APIConnectionError"), "network"),
    (raised("TransportError", "RemoteProtocolError"), "network"),
    (raised("OpenAIError", message="The api_key client option must be set"), "auth"),
    (StreamCut("cut"), "network"),
    (ConnectionResetError("reset"), "network"),
    (TimeoutError("slow"), "timeout"),
    (MemoryError(), "memory_limit"),
    (OSError(28, "No space left on device"), "disk_limit"),
]


@pytest.mark.parametrize(("error", "code"), FAILURES, ids=lambda each: str(type(each).__name__))
def test_exception_keeps_its_kind(error: Exception, code: str) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert failure.code == code


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("x"),
        raised("HTTPStatusError", response=Response()),
        raised("BadRequestError", status_code=400),
        raised("NotFoundError", status_code=404),
    ],
    ids=lambda each: type(each).__name__,
)
def test_other_exceptions_are_no_failure_of_a_provider(error: Exception) -> None:
    assert failure_of(error) is None


def test_cause_of_a_wrapped_exception_counts() -> None:
    outer = RuntimeError("the node failed")
    outer.__cause__ = raised("RateLimitError", status_code=429, message="slow down")
    assert failure_of(outer) == Failure("rate_limited", "slow down")


def test_provider_says_when_to_try_again() -> None:
    seconds = raised("RateLimitError", status_code=429, response=Response(retry_after="7"))
    millis = raised("RateLimitError", status_code=429, response=Response(retry_after_ms="250"))
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}
    google = raised("ClientError", code=429, details=body(message="no", details=[delay]))
    found = [failure_of(each) for each in (seconds, millis, google)]
    assert [each.retry_after for each in found if each is not None] == [7, 0.25, 17]


def test_message_is_the_providers_own_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    error = raised(
        "AuthenticationError",
        message="Error code: 401 - {…}",
        status_code=401,
        body=body(message="Wrong key correct-horse-battery, or sk-proj-abcdef123456."),
    )
    failure = failure_of(error)
    assert failure is not None
    assert failure.message == "Wrong key [SOME_API_KEY], or [key]."


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://ann:secret@example.com/x", "https://example.com/x"),
        ("GET https://x.example/v1?key=abcdef&b=1", "GET https://x.example/v1?key=[key]&b=1"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer [key]"),
        ("The key to success is a task.", "The key to success is a task."),
    ],
)
def test_secrets_are_removed(text: str, clean: str) -> None:
    assert without_secrets(text) == clean


def test_every_code_has_its_sentence() -> None:
    codes = {*NAMES.values(), *CLASSES.values(), *STATUSES.values()}
    assert codes <= CODES.keys()
    assert sentence_of("overloaded") == "The model provider is overloaded. Try again."
    assert sentence_of("KeyError") == sentence_of(None) == "The agent failed."


@pytest.mark.parametrize(
    ("names", "message", "code"),
    [
        (["server_error"], "API Error: Connection error.", "network"),
        (["server_error"], "The server had an error.", "overloaded"),
        (["429"], "", "rate_limited"),
        (["INVALID_ARGUMENT"], "API key not valid. Pass one.", "auth"),
        (["invalid_request_error"], "prompt is too long: 9 > 8", "context_length"),
        (["invalid_request_error"], "No such tool", None),
    ],
)
def test_error_of_a_stream_has_the_code_of_the_same_table(
    names: list[str], message: str, code: str | None
) -> None:
    assert failure_code(names, message) == code


def test_an_emitted_exception_has_its_code() -> None:
    error = raised("RateLimitError", status_code=429, response=Response(retry_after="7"))
    assert Objects().describe(error) == {
        "_exception": "RateLimitError",
        "str": "no",
        "failure": {"code": "rate_limited", "retryable": True, "retry_after": 7.0},
    }
    assert Objects().describe(ValueError("bad")) == {"_exception": "ValueError", "str": "bad"}
