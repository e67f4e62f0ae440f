"""`socket.io-client`, in a page without a framework: docs/clients/socketio.md."""

from __future__ import annotations

from typing import Final

from guides.bundles import PageSource
from guides.cells import Client
from guides.http_agent import ReconnectingTab, reported
from web.browser_watch import SOCKET_CUT_OFF

__all__ = ["SOCKET_IO"]

SOCKET_IO: Final = Client(
    name="Socket.IO",
    page=PageSource(
        "docs/clients/socketio.md", "socketio.ts", others=("docs/clients/http-agent.md",)
    ),
    tab=ReconnectingTab,
    own=reported("wrong key", SOCKET_CUT_OFF) | reported("server killed", SOCKET_CUT_OFF),
)
