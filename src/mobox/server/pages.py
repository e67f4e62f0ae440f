"""The pages of the API documentation."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from mobox import __version__
from mobox.server.openapi import docs_page, document
from mobox.server.routes import ROUTES
from mobox.server.services import json_response

__all__ = ["Pages"]

STYLE: Final = Path(__file__).parent / "static" / "docs.css"


class Pages:
    """The documentation, generated on first request."""

    async def docs(self, request: Request) -> Response:
        """The API documentation as HTML."""
        base = str(request.url.replace(path=request.scope.get("root_path", ""), query=""))
        page = docs_page(self._document, base, css="static/docs.css", json="openapi.json")
        return Response(page, media_type="text/html")

    async def style(self, _request: Request) -> Response:
        """The style sheet of the documentation."""
        return Response(self._style, media_type="text/css")

    async def openapi(self, _request: Request) -> Response:
        """The OpenAPI document."""
        return json_response(self._document)

    @cached_property
    def _style(self) -> bytes:
        return STYLE.read_bytes()

    @cached_property
    def _document(self) -> dict[str, Any]:
        return document(tuple(ROUTES.values()), __version__)
