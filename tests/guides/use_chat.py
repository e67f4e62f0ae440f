"""`useChat` of the AI SDK, versions 6 and 7: docs/clients/use-chat.md."""

from __future__ import annotations

from typing import Final

from guides.bundles import PageSource
from guides.cells import Client

__all__ = ["USE_CHAT_6", "USE_CHAT_7"]

DOCUMENT: Final = "docs/clients/use-chat.md"
USE_CHAT_6: Final = Client(
    name="useChat, ai 6",
    page=PageSource(DOCUMENT, "main.ts", {"@ai-sdk/react": "@ai-sdk/react-v6", "ai": "ai-v6"}),
)
USE_CHAT_7: Final = Client(
    name="useChat, ai 7",
    page=PageSource(DOCUMENT, "main.ts", {"@ai-sdk/react": "@ai-sdk/react", "ai": "ai"}),
)
