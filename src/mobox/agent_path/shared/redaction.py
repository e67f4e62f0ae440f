"""Removes secrets from messages for people: SDKs put addresses and keys into theirs."""

from __future__ import annotations

import os
import re

__all__ = ["without_keys", "without_secrets"]

SHORTEST = 8
"""Characters of a value that is surely no word of a sentence."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_PATTERNS = (
    (
        re.compile(r"\b(sk|pk|rk|xai|gsk|hf|ghp|key|mbm)[-_][A-Za-z0-9_*.\-]{5,}[A-Za-z0-9*]"),
        "[key]",
    ),
    (re.compile(r"\bAIza[A-Za-z0-9_\-]{10,}"), "[key]"),
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=\-]{8,}", re.IGNORECASE), r"\1 [key]"),
    (re.compile(r"([?&](?:api_?)?(?:key|token)=)[^&\s'\"]+", re.IGNORECASE), r"\1[key]"),
    (re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@"), r"\1"),
)


def without_secrets(text: str) -> str:
    """The text with keys and the values of secret variables replaced."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and _SECRET_NAME.search(name):
            text = text.replace(value, f"[{name}]")
    return without_keys(text)


def without_keys(text: str) -> str:
    """The text with all that looks like a key replaced."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
