"""Results of a provider's own tools, from its API or from a framework around it."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, Source
from mobox.parsers.json_values import objects_in, text_in

__all__ = ["SECRET", "is_error", "pages_in", "without_secrets"]

SECRET: Final = "encrypted_"
"""Prefix of members that only their provider can read."""


def is_error(output: JSON) -> bool:
    """Whether a tool reports a failure: by an error type, or an exit code."""
    if not isinstance(output, dict):
        return False
    kind, code = output.get("type"), output.get("return_code")
    return (isinstance(kind, str) and kind.endswith("_error")) or code not in (None, 0)


def pages_in(name: str | None, scope: tuple[str, ...], output: JSON) -> list[Source]:
    """The pages that a search names."""
    items = objects_in(output if isinstance(output, list) else [output])
    return [
        Source(id=name, scope=scope, url=url, title=text_in(item, "title"))
        for item in items
        if (url := text_in(item, "url")) is not None
    ]


def without_secrets(value: JSON, path: str = "") -> tuple[JSON, dict[str, JSON]]:
    """`value` without its encrypted members, and those by their JSON pointer."""
    if isinstance(value, list):
        children = {str(i): child for i, child in enumerate(value)}
    elif isinstance(value, dict):
        children = value
    else:
        return value, {}
    clean, secrets = {}, {}
    for key, child in children.items():
        if key.startswith(SECRET) and child is not None:
            secrets[f"{path}/{key}"] = child
        else:
            clean[key], inner = without_secrets(child, f"{path}/{key}")
            secrets |= inner
    return (list(clean.values()) if isinstance(value, list) else clean), secrets
