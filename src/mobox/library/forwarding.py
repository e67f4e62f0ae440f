"""Forwards a request to an app's route to one of Mobox's own routes.

Rule 1: the app has checked the origin of its own route, so the origin headers are not forwarded.
        Mobox's route still checks that the body is JSON and within the size limit.
Rule 2: the body is read when Mobox's route reads it, piece by piece, and after authentication.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mobox.server.files.links import BASE, base_of
from mobox.server.services import AGENT

_OWNER: Final = "mobox.forwarded_for"
_THEIRS: Final = ("app", "endpoint", "path_params", "route", "router")
"""Scope keys set by the app's router."""
_OF_THE_PAGE: Final = (b"origin", b"sec-fetch-")
_OF_A_BODY: Final = (b"content-", b"transfer-encoding")
"""Prefixes of headers about the origin and about the body."""
_ABOUT_THE_BODY: Final = (b"content-length", b"content-type")


class Forwarded(Response):
    """The response of Mobox's route, with the headers and cookies that were set on this one."""

    def __init__(self, app: ASGIApp, scope: Scope, request: Request | None = None) -> None:
        """With a request, its body is forwarded, even if the app has read it already."""
        super().__init__()
        self._app = app
        self._scope = scope
        self._body = None if request is None else _messages(request)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def first_the_body() -> Message:
            message = None if self._body is None else await anext(self._body, None)
            return await receive() if message is None else message

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


async def _messages(request: Request) -> AsyncIterator[Message]:
    """The body of a request as the messages in which a server delivers it."""
    try:
        async for piece in request.stream():
            if piece:
                yield {"type": "http.request", "body": piece, "more_body": True}
        yield {"type": "http.request", "body": b"", "more_body": False}
    except ClientDisconnect:
        yield {"type": "http.disconnect"}


class Target(NamedTuple):
    """The route of Mobox that a request is forwarded to."""

    method: str
    path: str
    owner: str | None = None
    agent: str | None = None
    query: Mapping[str, str | None] = {}
    """Parameters that override the request's own."""


def scope_of(request: Request, target: Target, mounted_at: str) -> Scope:
    """The ASGI scope for Mobox's route; the app serves files below `mounted_at`."""
    method, path, owner, agent, query = target
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
        AGENT: agent,
        BASE: base_of(request) + mounted_at,
    }


def _headers(request: Request, method: str) -> list[tuple[bytes, bytes]]:
    left_out = _OF_THE_PAGE if method == "POST" else (*_OF_THE_PAGE, *_OF_A_BODY)
    return [each for each in request.scope["headers"] if not each[0].startswith(left_out)]


def forwarded_owner(connection: HTTPConnection) -> str | None:
    """The owner that a request was forwarded for, if one was given."""
    owner: str | None = connection.scope.get(_OWNER)
    return owner
