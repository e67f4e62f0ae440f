"""The Vercel AI SDK: `useChat` and everything else that reads a UI message stream."""

from __future__ import annotations

from typing import Final

from mobox.formatters import Formatter
from mobox.formatters.ai_sdk.chunks import DEFAULT, PROFILES
from mobox.formatters.ai_sdk.document import DocumentFormatter
from mobox.formatters.ai_sdk.formatter import AISDKFormatter
from mobox.formatters.ai_sdk.snapshot import ui_message, ui_user_message

__all__ = [
    "DEFAULT",
    "HEADERS",
    "PROFILES",
    "REPLAYS_FINISHED",
    "AISDKFormatter",
    "DocumentFormatter",
    "ai_sdk",
    "ui_message",
    "ui_user_message",
]

HEADERS: Final = {"x-vercel-ai-ui-message-stream": "v1"}
"""Headers of a response, beside those of SSE."""

REPLAYS_FINISHED: Final = {None, *PROFILES} - {"v5"}
"""Profiles whose clients recognize a message that is replayed after its end."""


class _AISDK:
    """Chooses the formatter for a version of the client."""

    PROFILES = (*AISDKFormatter.PROFILES, "document")

    def __call__(self, message_id: str, profile: str) -> Formatter:
        if profile == "document":
            return DocumentFormatter(message_id)
        return AISDKFormatter(message_id, profile)


ai_sdk = _AISDK()
