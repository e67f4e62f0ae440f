"""Values that all protocols format alike: errors, links, profiles, fields without a value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from mobox.errors import UnknownProfile
from mobox.events import JSON, DoneReason, Error, File, Outcome, Source, TodoItem, ToolResult

T = TypeVar("T")

FAILED_OUTCOMES: Final[Collection[Outcome]] = ("error", "denied", "interrupted")
"""The statuses of a call that are formatted as its error."""
_ERRORS = {"denied": "The call was denied.", "interrupted": "The call was interrupted."}
_END_TEXTS: dict[DoneReason, str] = {
    "error": "The run failed.",
    "lost": "The server stopped while the agent was working. Everything up to here is saved.",
}
"""The texts for failures without a message."""


def run_failure(reason: DoneReason, fatal: Error | None) -> tuple[str, str] | None:
    """The error message and code of a failed run; `fatal` comes from `HeldErrors`."""
    words = error_of(reason, fatal.message if fatal is not None else None)
    code = (fatal.code if fatal is not None else None) or reason
    return (words, code) if words is not None else None


def error_of(reason: DoneReason, message: str | None) -> str | None:
    """The error text of a failed run; `None` if it did not fail."""
    return (message or _END_TEXTS[reason]) if reason in _END_TEXTS else None


def call_error(result: ToolResult) -> str:
    """The error text of a failed call."""
    return text_of(result.output) or _ERRORS.get(result.status, "The call failed.")


def text_of(output: JSON) -> str:
    """The message of an error, from the forms in which tools return it."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(filter(None, map(text_of, output)))
    if isinstance(output, dict):
        for name in ("text", "message", "error", "error_code", "stderr"):
            if isinstance(words := output.get(name), str) and words:
                return words
    return msgspec.json.encode(output).decode() if output else ""


def without_none(fields: dict[str, JSON]) -> dict[str, JSON]:
    """`fields` without those that have no value: some clients refuse `null` in an optional one."""
    return {name: value for name, value in fields.items() if value is not None}


def plan_items(items: Iterable[TodoItem]) -> list[dict[str, JSON]]:
    """The lines of a plan, with the names that pages use."""
    return [
        without_none(
            {"content": item.content, "status": item.status, "activeForm": item.active_form}
        )
        for item in items
    ]


# URLs that a page may open: a `javascript:` URL from an agent's source would run as the user who
# clicks it.

_LINKS: Final = ("http://", "https://")
_FILES: Final = (*_LINKS, "data:", "blob:")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+")


def source_url(source: Source) -> str | None:
    """The URL of a source; `None` if it has none that may be opened."""
    return source.url if source.url and source.url.lower().startswith(_LINKS) else None


def source_document(source: Source) -> str | None:
    """The name of a source without a link; it may be a URL that must not be opened."""
    return source.document if source_url(source) else source.document or source.url


def file_url(file: File) -> str | None:
    """The URL of a file, or the file itself; `None` if only its provider can fetch it."""
    if file.url and file.url.lower().startswith(_FILES):
        return file.url
    if file.base64 and _MEDIA_TYPE.fullmatch(file.media_type):
        return f"data:{file.media_type};base64,{file.base64}"
    return None


def profile_named(name: str, profiles: Mapping[str, T]) -> T:
    """The flags of that profile; raises `UnknownProfile` if there is none."""
    if name not in profiles:
        raise UnknownProfile(name, profiles)
    return profiles[name]
