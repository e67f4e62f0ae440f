"""Maps Gemini's finish reasons and usage to our names."""

from __future__ import annotations

from typing import Final

from msgspec import convert

from mobox.events import JSON, DoneReason, StreamEvent, Usage
from mobox.parsers.gemini import wire
from mobox.parsers.kept import or_raw
from mobox.usage import sum_of

__all__ = ["VENDOR", "reason_of", "used"]

VENDOR: Final = "google"
"""The key of `provider` under which this vendor's state is kept."""

_REASONS: Final[dict[str, DoneReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "JAILBREAK": "content_filter",
    "OTHER": "stop",
    "CONTINUATION": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "BLOCK_REASON_UNSPECIFIED": "content_filter",
    "NO_IMAGE": "stop",
    "IMAGE_OTHER": "stop",
    "TOO_MANY_TOOL_CALLS": "max_turns",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
}
"""The API's finish and block reasons."""


def reason_of(word: str) -> DoneReason | None:
    """Our name of the API's reason; `None` if it is not a reason, but another error."""
    return _REASONS.get(word)


def used(usage: JSON, name: str, scope: tuple[str, ...], model: str | None) -> list[StreamEvent]:
    """The usage of one answer; the API counts thoughts apart, here they are output."""
    return or_raw(lambda: [_use_of(usage, name, scope, model)], usage, scope) if usage else []


def _use_of(usage: JSON, name: str, scope: tuple[str, ...], model: str | None) -> Usage:
    counts = convert(usage, wire.Usage)
    return Usage(
        id=name,
        scope=scope,
        input=sum_of(counts.prompt_token_count, counts.tool_use_prompt_token_count),
        output=sum_of(counts.candidates_token_count, counts.thoughts_token_count),
        cache_read=counts.cached_content_token_count,
        reasoning=counts.thoughts_token_count,
        total=counts.total_token_count,
        model=model,
        service_tier=counts.service_tier,
    )
