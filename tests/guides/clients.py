"""The clients of the table, in its order; each has a document, a page and a module of tests."""

from __future__ import annotations

from typing import Final

from guides.assistant_ui import ASSISTANT_UI
from guides.cells import Client
from guides.copilotkit import COPILOTKIT_V1, COPILOTKIT_V2
from guides.event_source import EVENT_SOURCE
from guides.http_agent import HTTP_AGENT
from guides.socket_client import SOCKET_IO
from guides.use_chat import USE_CHAT_6, USE_CHAT_7

__all__ = ["CLIENTS"]

CLIENTS: Final[tuple[Client, ...]] = (
    USE_CHAT_6,
    USE_CHAT_7,
    ASSISTANT_UI,
    COPILOTKIT_V1,
    COPILOTKIT_V2,
    HTTP_AGENT,
    SOCKET_IO,
    EVENT_SOURCE,
)
