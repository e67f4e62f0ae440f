"""The codes of failures: one table from providers' and SDKs' own names to a few codes.

An exception in an agent (failures.py) and an error in a provider's stream (the parsers) are looked
up here, by the same rules:

Rule 1: a name decides, then the words of the message, then the class, then the HTTP status.
Rule 2: a vague name, such as `server_error`, decides only if the message says no more.
Rule 3: what nothing here describes has no code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = [
    "CODES",
    "RETRYABLE",
    "class_code",
    "failure_code",
    "is_retryable",
    "retry_delay",
    "sentence_of",
]


class Code(NamedTuple):
    """What a reader is told who may not see the words of a failure."""

    sentence: str
    is_retryable: bool = False
    """Whether another try may succeed."""


CODES = {
    # A model's provider.
    "rate_limited": Code("The model provider received too many requests. Try again later.", True),
    "overloaded": Code("The model provider is overloaded. Try again.", True),
    "network": Code("The connection to the model provider failed. Try again.", True),
    "timeout": Code("The answer took too long. Try again.", True),
    "auth": Code("The model provider did not accept the agent's credentials."),
    "context_length": Code("The conversation is too long for the model."),
    "content_filter": Code("The model provider refused the content."),
    "budget": Code("No budget or credit is left for the model."),
    # An agent.
    "crashed": Code("The agent crashed."),
    "not_understood": Code("The agent's output could not be read."),
    "memory_limit": Code("The agent needed more memory than it may use."),
    "disk_limit": Code("The agent needed more disk space than it may use."),
    "process_limit": Code("The agent started more processes than it may."),
    "output_limit": Code("The agent wrote more than it may."),
    "idle_timeout": Code("The agent was silent for too long."),
    "not_installed": Code("The packages that the agent needs are not installed."),
    "sandbox_unavailable": Code("The sandbox of the agent is not available."),
    "agent_start": Code("The agent could not be started."),
    # The server.
    "not_executed": Code("No worker executed the run in time."),
    "no_room": Code("No worker had capacity for the run in time."),
    "internal": Code("The server had an internal error in this run."),
}

RETRYABLE = frozenset(code for code, about in CODES.items() if about.is_retryable)
"""Failures that another try may not have."""

OTHER = "The agent failed."

NAMES = {
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "rate_limit"), "rate_limited"),
    **dict.fromkeys(("requests", "tokens", "too_many_requests"), "rate_limited"),
    **dict.fromkeys(("resource_exhausted", "throttlingexception"), "rate_limited"),
    **dict.fromkeys(("overloaded_error", "overloaded", "engine_overloaded"), "overloaded"),
    **dict.fromkeys(("api_error", "server_error", "internal_server_error"), "overloaded"),
    **dict.fromkeys(("internal_error", "internal", "unavailable"), "overloaded"),
    **dict.fromkeys(("service_unavailable", "server_is_overloaded", "slow_down"), "overloaded"),
    **dict.fromkeys(("authentication_error", "authentication_failed"), "auth"),
    **dict.fromkeys(("permission_error", "permission_denied", "invalid_api_key"), "auth"),
    **dict.fromkeys(("unauthenticated", "api_key_invalid", "oauth_org_not_allowed"), "auth"),
    **dict.fromkeys(("context_length_exceeded", "request_too_large"), "context_length"),
    **dict.fromkeys(("string_above_max_length", "model_context_window_exceeded"), "context_length"),
    **dict.fromkeys(("content_filter", "content_policy_violation"), "content_filter"),
    "responsibleaipolicyviolation": "content_filter",
    **dict.fromkeys(("insufficient_quota", "billing_error", "billing_not_active"), "budget"),
    **dict.fromkeys(("billing_hard_limit_reached", "budget_exceeded"), "budget"),
    **dict.fromkeys(("timeout_error", "deadline_exceeded", "timeout"), "timeout"),
    "network_error": "network",
}
"""The providers' own names, in their types, codes and statuses, in lower case."""

WRONG_REQUESTS = frozenset(
    {"invalid_request_error", "invalid_prompt", "invalid_argument", "failed_precondition"}
    | {"not_found_error", "not_found", "model_not_found", "unsupported_value"}
)
"""Names of refusals that have no code: the same request is refused again."""

VAGUE = frozenset({"server_error", "unknown", "invalid_request"})
"""Names that a program uses for failures of several kinds."""


class Phrase(NamedTuple):
    """Words of a message, and the code that they mean."""

    words: re.Pattern[str]
    code: str


def _phrase(code: str, *words: str) -> Phrase:
    return Phrase(re.compile("|".join(words), re.IGNORECASE), code)


REFUSALS = (
    _phrase(
        "context_length",
        r"prompt is too long|context[ _](length|window|limit)|maximum (context|number of tokens)",
        r"input token count|too many (input )?tokens|input is too long",
    ),
    _phrase("budget", r"credit balance|model budget"),
    _phrase("content_filter", r"content (management )?policy|safety system|content filter"),
    _phrase(
        "auth",
        r"could not resolve authentication|api_key client option must be set",
        r"missing key inputs|missing credentials|api key not valid|invalid api key",
    ),
)
"""Messages of requests that were refused for a reason that has no name of its own."""

TRANSPORT = (
    _phrase("timeout", r"timed? ?out", r"ETIMEDOUT"),
    _phrase("network", r"connection|\bE(CONN|HOST|NET|AI_|PIPE)|socket"),
    _phrase("overloaded", r"overloaded|\b5\d\d\b"),
)
"""Messages of failures whose name is vague."""

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
    "BudgetExceededError": "budget",
    "APITimeoutError": "timeout",
    "RequestTimeoutError": "timeout",
    "DeadlineExceededError": "timeout",
    "GatewayTimeoutError": "timeout",
    "Timeout": "timeout",  # requests, litellm
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
    "MemoryError": "memory_limit",
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


def failure_code(
    names: Iterable[str],
    message: str = "",
    status: int | None = None,
    *,
    classes: Iterable[str] = (),
    is_refusal: bool = True,
) -> str | None:
    """The code of a failure with these names of its provider; `None` if it is not known.

    Only what is a refusal, by a provider, is looked up by the words of its message.
    """
    listed = [name.lower() for name in names]
    clear = (NAMES.get(name) for name in listed if name not in VAGUE)
    statuses = [int(name) for name in listed if name.isdecimal() and len(name) == 3]
    return (
        next(filter(None, clear), None)
        or (_by_phrase(REFUSALS, message) if is_refusal else None)
        or (_by_phrase(TRANSPORT, message) if not VAGUE.isdisjoint(listed) else None)
        or class_code(classes)
        or next(filter(None, map(NAMES.get, listed)), None)
        or next(filter(None, map(STATUSES.get, [*statuses, status or 0])), None)
    )


def is_retryable(code: str | None, names: Iterable[str] = ()) -> bool | None:
    """Whether another try may succeed; `None` if that is not known."""
    if code in CODES:
        return code in RETRYABLE
    is_wrong = any(name.lower() in WRONG_REQUESTS for name in names)
    return False if is_wrong else None


def class_code(names: Iterable[str]) -> str | None:
    """The code of the first of these classes that is listed."""
    return next((CLASSES[name] for name in names if name in CLASSES), None)


def sentence_of(code: str | None) -> str:
    """What a reader is told about a failure with this code, without any words of it."""
    return CODES[code].sentence if code in CODES else OTHER


def retry_delay(details: object) -> float | None:
    """The seconds that Google's details of an error name."""
    found = re.search(r"'retryDelay': '([0-9]{1,9}(?:\.[0-9]{1,9})?)s'", str(details))
    return float(found[1]) if found else None


def _by_phrase(phrases: Iterable[Phrase], message: str) -> str | None:
    return next((phrase.code for phrase in phrases if phrase.words.search(message)), None)
