"""Authenticates and authorizes a request before its route's handler is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.delivery.sse import STREAM
from mobox.server.auth.authentication import Principal, authenticator_of
from mobox.server.auth.tickets import holder_of
from mobox.server.eventstream import EventStream
from mobox.server.openapi import Route
from mobox.storage.keys import Keys

Handler = Callable[[Request], Awaitable[ASGIApp]]

TICKET: Final = "ticket"
"""The query parameter for tickets; a route accepts them if its row in the table lists it."""


class AuthenticatedRoute:
    """One route: an ASGI application."""

    def __init__(self, route: Route, handler: Handler, keys: Keys) -> None:
        self._scope = route.scope
        self._handler = handler
        self._keys = keys
        self._is_stream = STREAM in route.responses.values()
        self._takes_tickets = any(parameter.name == TICKET for parameter in route.parameters)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        if self._scope is None:
            await (await self._handler(request))(scope, receive, send)
            return
        principal = await self._admitted(request)
        principal.check(self._scope)
        if self._is_stream:
            await self._stream(request, principal, send)
        else:
            await (await self._handler(request))(scope, receive, send)

    async def _stream(self, request: Request, principal: Principal, send: Send) -> None:
        """Reserve a stream of the owner's limit first; the key may be revoked while it is open."""
        with authenticator_of(request).visits.entered(principal) as visit:
            response = await self._handler(request)
            if isinstance(response, EventStream):
                visit.end = response.end
            await response(request.scope, request.receive, send)

    async def _admitted(self, request: Request) -> Principal:
        door = authenticator_of(request)
        secret = request.query_params.get(TICKET) if self._takes_tickets else None
        if secret is None:
            return await door.admit(request)
        principal = await holder_of(self._keys, secret, request.path_params["run_id"])
        if principal is None:
            raise door.nobody("invalid, expired or already used ticket for this run")
        door.know(request.scope, principal)
        return principal
