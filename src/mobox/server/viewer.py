"""The server of `mobox view`: the page and one recording, without a store and without agents.

Rule 1: the file is read again with each request, so that a reload of the page shows how it grew.
Rule 2: requests are checked as those of a local server: `Guard`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from mobox.server.errors import error_response, exception_handlers
from mobox.server.eventstream import EventStream, Heartbeats
from mobox.server.guard import Allowed, BodyRule, Guard
from mobox.server.recordings.routes import recording_stream
from mobox.server.runs.events import format_list
from mobox.server.services import json_response
from mobox.server.website import Website
from mobox.settings import Settings

PAGE: Final = "view#local"
"""The path of the page that shows the file."""
_HOSTS: Final = ("127.0.0.1", "localhost", "::1")


class ViewedFile:
    """The recording: a file, or what was read from standard input."""

    def __init__(self, name: str, read: Callable[[], bytes]) -> None:
        self.name = name
        self.read = read

    @classmethod
    def at(cls, path: Path) -> ViewedFile:
        name = os.fsencode(path.name).decode(errors="replace")
        return cls(name, path.read_bytes)

    @classmethod
    def of(cls, data: bytes, name: str) -> ViewedFile:
        return cls(name, lambda: data)


def viewer_app(file: ViewedFile, heartbeats: Heartbeats, settings: Settings) -> ASGIApp:
    """The application; the caller starts and stops the heartbeats."""
    website = Website()

    async def recording(_request: Request) -> Response:
        try:
            data = await asyncio.to_thread(file.read)
        except OSError as error:
            problem = f"cannot read {file.name}: {error.strerror}"
            return error_response(404, "not_found", problem)
        headers = {"x-mobox-file": quote(file.name)}
        return Response(data, headers=headers, media_type="application/octet-stream")

    async def rows(request: Request) -> EventStream:
        return await recording_stream(request, settings, heartbeats)

    async def formats(_request: Request) -> Response:
        return json_response(format_list())

    async def home(_request: Request) -> Response:
        return RedirectResponse(PAGE)

    routes = [
        Route("/api/recording", recording),
        Route("/api/recordings", rows, methods=["POST"]),
        Route("/api/formats", formats),
        Route("/", home),
        Route("/view", website.page),
        Route("/favicon.ico", website.icon),
        Route("/assets/{name:path}", website.asset),
        Route("/{name}", website.file),
    ]
    app = Starlette(routes=routes, exception_handlers=exception_handlers)
    upload = BodyRule(
        "POST", re.compile("/api/recordings"), "max-file", settings.max_file, is_upload=True
    )
    allowed = Allowed(hosts=_HOSTS, origins=(), max_body=settings.max_body, rules=(upload,))
    return Guard(app, allowed)
