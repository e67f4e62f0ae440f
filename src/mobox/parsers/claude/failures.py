"""The codes of errors that Claude Code reports instead of an answer.

It names their kind coarsely: an overloaded provider and one that cannot be reached are both
`server_error`. Its message, which starts with `API Error:`, tells them apart.
"""

from __future__ import annotations

import re
from typing import Final

_KINDS: Final = {
    "authentication_failed": "auth",
    "billing_error": "budget",
    "overloaded": "overloaded",
    "rate_limit": "rate_limited",
    "server_error": "overloaded",
}
_VAGUE: Final = frozenset({None, "invalid_request", "server_error", "unknown"})
"""Kinds whose message says more."""

_MESSAGES: Final = (
    (
        re.compile(r"prompt is too long|context (length|window|limit)", re.IGNORECASE),
        "context_length",
    ),
    (re.compile(r"timed? ?out|ETIMEDOUT", re.IGNORECASE), "timeout"),
    (re.compile(r"connection|\bE(CONN|HOST|NET|AI_|PIPE)|socket", re.IGNORECASE), "network"),
    (re.compile(r"overloaded|\b5\d\d\b", re.IGNORECASE), "overloaded"),
)
_RETRYABLE: Final = frozenset({"network", "overloaded", "rate_limited", "timeout"})
_FINAL: Final = frozenset({"auth", "budget", "context_length"})


def code_of(kind: str | None, message: str) -> str | None:
    """The code of an error, by the program's name for its kind and its message."""
    if kind in _VAGUE:
        for words, code in _MESSAGES:
            if words.search(message):
                return code
    return _KINDS.get(kind or "", kind)


def is_retryable(code: str | None) -> bool | None:
    """Whether another attempt may succeed; `None` if that is not known."""
    return True if code in _RETRYABLE else False if code in _FINAL else None
