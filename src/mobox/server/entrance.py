"""A route with its door: who asks is found out, and whether they may, before anything is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.delivery.sse import STREAM
from mobox.server.authentication import Principal, door_of
from mobox.server.eventstream import EventStream
from mobox.server.openapi import Route
from mobox.server.tickets import holder_of
from mobox.storage.keys import Keys

__all__ = ["Entrance", "Handler"]

Handler = Callable[[Request], Awaitable[ASGIApp]]

TICKET: Final = "ticket"
"""The parameter by which a route takes tickets, where its row in the table names it."""


class Entrance:
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
        """There is a place for it before anything is begun, and it may be cut off later."""
        with door_of(request).visits.entered(principal) as visit:
            response = await self._handler(request)
            if isinstance(response, EventStream):
                visit.end = response.end
            await response(request.scope, request.receive, send)

    async def _admitted(self, request: Request) -> Principal:
        door = door_of(request)
        secret = request.query_params.get(TICKET) if self._takes_tickets else None
        if secret is None:
            return await door.admit(request)
        principal = await holder_of(self._keys, secret, request.path_params["run_id"])
        if principal is None:
            raise door.nobody("expected a ticket for this run that nobody has used yet")
        door.know(request.scope, principal)
        return principal
