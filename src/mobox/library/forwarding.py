"""Forwards a request to an app's route to one of Mobox's own routes.

Rule 1: the app has checked the origin of its own route, so the origin headers are not forwarded.
        Mobox's route still checks that the body is JSON and within the size limit.
Rule 2: the body is read when Mobox's route reads it, which is after authentication.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mobox.errors import NotJson
from mobox.events import json_text

_OWNER: Final = "mobox.forwarded_for"
_THEIRS: Final = ("app", "endpoint", "path_params", "route", "router")
"""Scope keys set by the app's router."""
_OF_THE_PAGE: Final = (b"origin", b"sec-fetch-")
_OF_A_BODY: Final = (b"content-", b"transfer-encoding")
"""Prefixes of headers about the origin and about the body."""
_ABOUT_THE_BODY: Final = (b"content-length", b"content-type")


class Forwarded(Response):
    """The response of Mobox's route, with the headers and cookies that were set on this one."""

    def __init__(
        self, app: ASGIApp, scope: Scope, read_body: Callable[[], Awaitable[bytes]] | None = None
    ) -> None:
        super().__init__()
        self._app = app
        self._scope = scope
        self._read_body = read_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def first_the_body() -> Message:
            read_body, self._read_body = self._read_body, None
            if read_body is None:
                return await receive()
            try:
                return {"type": "http.request", "body": await read_body(), "more_body": False}
            except ClientDisconnect:
                return {"type": "http.disconnect"}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": self._merged(message["headers"])}
            await send(message)

        await self._app(self._scope, first_the_body, with_headers)
        if self.background is not None:
            await self.background()

    def _merged(self, ours: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Headers set on this response replace those of Mobox's route; cookies are added."""
        theirs = [pair for pair in self.raw_headers if pair[0] not in _ABOUT_THE_BODY]
        names = {name for name, _ in theirs} - {b"set-cookie"}
        return [*(pair for pair in ours if pair[0] not in names), *theirs]


def scope_of(
    request: Request, method: str, path: str, owner: str | None, query: Mapping[str, str | None]
) -> Scope:
    """The ASGI scope for Mobox's route; `query` overrides the request's own parameters."""
    scope = {name: value for name, value in request.scope.items() if name not in _THEIRS}
    own = dict(parse_qsl(request.scope["query_string"].decode("latin-1")))
    parameters = {name: value for name, value in {**own, **query}.items() if value is not None}
    return {
        **scope,
        "method": method,
        "path": path,
        "raw_path": quote(path).encode(),
        "root_path": "",
        "query_string": urlencode(parameters).encode(),
        "headers": _headers(request, method),
        _OWNER: owner,
    }


def _headers(request: Request, method: str) -> list[tuple[bytes, bytes]]:
    left_out = _OF_THE_PAGE if method == "POST" else (*_OF_THE_PAGE, *_OF_A_BODY)
    return [each for each in request.scope["headers"] if not each[0].startswith(left_out)]


def forwarded_owner(connection: HTTPConnection) -> str | None:
    """The owner that a request was forwarded for, if one was given."""
    owner: str | None = connection.scope.get(_OWNER)
    return owner


async def body_to(agent: str | None, request: Request, most: int) -> bytes:
    """The body with `agent` set; of a body over the limit, enough for the guard to refuse it."""
    read = bytearray()
    async for piece in request.stream():
        read += piece
        if len(read) > most:
            return bytes(read)
    return bytes(read) if agent is None else _with_agent(bytes(read), agent)


def _with_agent(body: bytes, agent: str) -> bytes:
    """A chat request with `agent` set; a body that is not an object is left to the route."""
    try:
        value: Any = json_text.decode_json(body)
    except NotJson:
        return body
    return msgspec.json.encode({**value, "agent": agent}) if isinstance(value, dict) else body
