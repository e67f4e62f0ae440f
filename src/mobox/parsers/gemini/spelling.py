"""Normalizes keys: Python's objects are dumped in snake_case, the API writes camelCase."""

from __future__ import annotations

import re
from typing import Final

from mobox.events import JSON

__all__ = ["camel"]

_OWN_NAMES: Final = frozenset(
    {
        "args",
        "artifactDelta",
        "customMetadata",
        "output",
        "payload",
        "requestedAuthConfigs",
        "requestedToolConfirmations",
        "response",
        "stateDelta",
    }
)
"""Values from a caller or a tool: their keys are not changed."""
_LATER_WORD: Final = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def camel(value: JSON) -> JSON:
    """`value` with the keys that are the API's in the API's spelling."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _inner(name, value[key]) for key, name in _names(value)}


def _names(value: dict[str, JSON]) -> list[tuple[str, str]]:
    return [(key, _camel(key) if "_" in key else key) for key in value]


def _camel(key: str) -> str:
    return _LATER_WORD.sub(lambda found: found[1].upper(), key)


def _inner(name: str, value: JSON) -> JSON:
    return value if name in _OWN_NAMES else camel(value)
