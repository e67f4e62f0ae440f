"""Detects forbidden browser activity in every tab of a context."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Request, WebError

__all__ = ["CUT_OFF", "Watch", "Watched", "cut_off"]

CUT_OFF = (
    r"ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED|CONTENT_LENGTH_MISMATCH"
    r"|INTERNET_DISC|EMPTY_RESP)"
)
"""The browser's own console message for an unreachable server."""
SOCKET_CUT_OFF = r"WebSocket connection to .* failed"
"""The same, for a socket."""


def cut_off(protocol: str) -> str:
    """The browser's own console messages when a protocol's connection breaks."""
    return f"{CUT_OFF}|{SOCKET_CUT_OFF}" if protocol == "socket-io" else CUT_OFF


REPORT = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} does not allow ${event.blockedURI}`);
});
"""
LOCAL = {"data", "blob", "about"}
"""URL schemes that cause no network request."""


class Watch:
    """The complaints of a context; `expect` names those that a test provokes."""

    def __init__(self, context: BrowserContext, home: str) -> None:
        self._homes = {urlsplit(home).netloc}
        self._expected: list[str] = []
        self._seen: list[str] = []
        context.add_init_script(REPORT)
        context.on("console", self._console)
        context.on("dialog", self._dialog)
        context.on("request", self._request)
        context.on("weberror", self._error)

    def expect(self, pattern: str) -> None:
        """Allow complaints that match this, past and future."""
        self._expected.append(pattern)

    def allow(self, url: str) -> None:
        """Allow requests to this server too: that of a page with another origin."""
        self._homes.add(urlsplit(url).netloc)

    @property
    def complaints(self) -> list[str]:
        return [seen for seen in self._seen if not any(re.search(e, seen) for e in self._expected)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self._seen.append(f"console {message.type}: {message.text} ({_place(message)})")

    def _dialog(self, dialog: Dialog) -> None:
        self._seen.append(f"dialog {dialog.type}: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in LOCAL and address.netloc not in self._homes:
            self._seen.append(f"request: {request.method} {request.url}")

    def _error(self, error: WebError) -> None:
        self._seen.append(f"error: {error.error}")


def _place(message: ConsoleMessage) -> str:
    place: dict[str, Any] = dict(message.location)
    return f"{place.get('url', '')}:{place.get('lineNumber', '')}"


Watched: TypeAlias = Callable[..., tuple[BrowserContext, Watch]]
"""Makes a context for the server at a URL, and its watch."""
