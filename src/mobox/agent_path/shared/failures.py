"""The kind of a failure: one table from SDKs' exceptions and providers' errors to a few codes.

========================= ==================================================================
code                      meaning
========================= ==================================================================
rate_limited              too many requests; `retry_after` if the provider named a time
overloaded                the provider is overloaded or failed
auth                      no key, or one that is not accepted
context_length            the conversation is too long for the model
content_filter            the provider refused the content
budget                    no credit or quota is left
network                   the provider could not be reached, or the connection broke
timeout                   it took too long
========================= ==================================================================

Rule 1: no SDK is imported: exceptions are known by the names of their classes, by their status and
        by the provider's own words in them.
Rule 2: an exception that none of this describes is no failure of a provider: `None`.
Rule 3: an SDK may wrap an exception: the first in the chain of causes that is known counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from .redaction import without_secrets

__all__ = ["RETRYABLE", "SENTENCES", "Failure", "StreamCut", "code_of", "failure_of"]

RETRYABLE = frozenset({"rate_limited", "overloaded", "network", "timeout"})
"""Failures that another try may not have."""

SENTENCES = {
    "rate_limited": "The model's provider received too many requests.",
    "overloaded": "The model's provider is overloaded.",
    "auth": "The model's provider did not accept the credentials.",
    "context_length": "The conversation is too long for the model.",
    "content_filter": "The model's provider refused the content.",
    "budget": "No credit is left at the model's provider.",
    "network": "The connection to the model's provider failed.",
    "timeout": "The model's provider took too long.",
}
"""What a reader is told who may not see the provider's own words."""

WORDS = {
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "requests"), "rate_limited"),
    **dict.fromkeys(("tokens", "resource_exhausted", "too_many_requests"), "rate_limited"),
    **dict.fromkeys(("overloaded_error", "api_error", "server_error"), "overloaded"),
    **dict.fromkeys(("internal_server_error", "internal", "unavailable"), "overloaded"),
    **dict.fromkeys(("service_unavailable", "engine_overloaded"), "overloaded"),
    **dict.fromkeys(("authentication_error", "permission_error", "invalid_api_key"), "auth"),
    **dict.fromkeys(("unauthenticated", "permission_denied", "api_key_invalid"), "auth"),
    **dict.fromkeys(("context_length_exceeded", "request_too_large"), "context_length"),
    **dict.fromkeys(("string_above_max_length", "model_context_window_exceeded"), "context_length"),
    **dict.fromkeys(("content_filter", "content_policy_violation"), "content_filter"),
    **dict.fromkeys(
        ("insufficient_quota", "billing_error", "billing_hard_limit_reached"), "budget"
    ),
    **dict.fromkeys(("timeout_error", "deadline_exceeded", "timeout"), "timeout"),
}
"""The providers' own names, in their types, codes and statuses, in lower case."""

PHRASES = (
    (
        re.compile(
            r"prompt is too long|context[ _](length|window)|maximum (context|number of tokens)"
            r"|input token count|too many (input )?tokens|input is too long",
            re.IGNORECASE,
        ),
        "context_length",
    ),
    (re.compile(r"credit balance|model budget", re.IGNORECASE), "budget"),
    (
        re.compile(r"content (management )?policy|safety system|content filter", re.IGNORECASE),
        "content_filter",
    ),
    (
        re.compile(
            r"could not resolve authentication|api_key client option must be set"
            r"|missing key inputs|missing credentials|api key not valid",
            re.IGNORECASE,
        ),
        "auth",
    ),
)
"""Messages of requests that were refused for a reason that has no name of its own."""

CLASSES = {
    "RateLimitError": "rate_limited",
    "OverloadedError": "overloaded",
    "ServiceUnavailableError": "overloaded",
    "InternalServerError": "overloaded",
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "CredentialsError": "auth",
    "RequestTooLargeError": "context_length",
    "ContentTooLargeError": "context_length",
    "ContextOverflowError": "context_length",
    "ContextWindowExceededError": "context_length",
    "ContentFilterFinishReasonError": "content_filter",
    "ContentPolicyViolationError": "content_filter",
    "APITimeoutError": "timeout",
    "RequestTimeoutError": "timeout",
    "DeadlineExceededError": "timeout",
    "GatewayTimeoutError": "timeout",
    "TimeoutException": "timeout",  # httpx
    "TimeoutError": "timeout",
    "APIConnectionError": "network",
    "TransportError": "network",  # httpx
    "ClientConnectionError": "network",  # aiohttp
    "ClientPayloadError": "network",
    "IncompleteRead": "network",
    "StreamCut": "network",
    "ConnectionError": "network",
    "gaierror": "network",
    "ResourceExhausted": "rate_limited",  # google.api_core
    "ServiceUnavailable": "overloaded",
    "Unauthenticated": "auth",
    "PermissionDenied": "auth",
    "DeadlineExceeded": "timeout",
}
"""Classes of exceptions; an exception counts as the first of its bases that is listed."""

STATUSES = {
    401: "auth",
    402: "budget",
    403: "auth",
    408: "timeout",
    413: "context_length",
    429: "rate_limited",
    504: "timeout",
    **dict.fromkeys((500, 502, 503, 529), "overloaded"),
}

_MOST_CAUSES = 8
_REFUSED = range(400, 500)


class StreamCut(ConnectionError):
    """A provider's stream ended before its message did."""


class Failure(NamedTuple):
    """What a provider's failure was."""

    code: str
    message: str
    """The provider's own, without secrets."""
    retry_after: float | None = None
    """Seconds after which the provider wants to be asked again."""

    @property
    def retryable(self) -> bool:
        return self.code in RETRYABLE

    @property
    def sentence(self) -> str:
        """The message without any words of the provider."""
        return SENTENCES[self.code]


def failure_of(error: BaseException) -> Failure | None:
    """What the exception says about a provider; `None` if it is another failure."""
    for cause in _chain(error):
        code = None
        with suppress(Exception):  # an exception's attributes may raise anything
            code = code_of(cause)
        if code is not None:
            return Failure(code, without_secrets(_message(cause)), _retry_after(cause))
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__


def code_of(error: BaseException) -> str | None:
    """The code of one exception, without its causes."""
    words = (WORDS.get(word.lower()) for word in _words(error))
    found = next((code for code in words if code is not None), None)
    status = _status(error)
    return found or _by_phrase(error, status) or _by_class(error) or STATUSES.get(status or 0)


def _by_phrase(error: BaseException, status: int | None) -> str | None:
    is_refusal = status in _REFUSED or _is_named(error, "OpenAIError", "TypeError", "ValueError")
    if not is_refusal:
        return None
    text = str(error)
    return next((code for phrase, code in PHRASES if phrase.search(text)), None)


def _by_class(error: BaseException) -> str | None:
    names = (each.__name__ for each in type(error).__mro__)
    return next((CLASSES[name] for name in names if name in CLASSES), None)


def _is_named(error: BaseException, *names: str) -> bool:
    return any(each.__name__ in names for each in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    """The HTTP status; only of an SDK's exception, as a tool's own request may fail too."""
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _bodies(error: BaseException) -> Iterator[Mapping[str, Any]]:
    """The provider's answer, and the error in it."""
    for name in ("body", "details"):
        body = getattr(error, name, None)
        if isinstance(body, Mapping):
            inner = body.get("error")
            yield from [inner] if isinstance(inner, Mapping) else []
            yield body


def _words(error: BaseException) -> Iterator[str]:
    """The provider's own names of the failure; `error` is every error's."""
    for body in _bodies(error):
        for name in ("code", "type", "status"):
            if isinstance(body.get(name), str):
                yield body[name]
    for name in ("code", "type", "status"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            yield value


def _message(error: BaseException) -> str:
    messages = [body.get("message") for body in _bodies(error)]
    messages += [getattr(error, "message", None), str(error), type(error).__name__]
    return next(each for each in messages if isinstance(each, str) and each)


def _retry_after(error: BaseException) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(Exception):  # no headers, or a date
            return round(max(0.0, float(headers[name]) * factor), 3)
    for body in _bodies(error):
        delays = re.findall(r"'retryDelay': '([0-9.]+)s'", str(body.get("details")))
        if delays:
            return float(delays[0])
    return None
