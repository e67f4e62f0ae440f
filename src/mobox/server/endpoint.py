"""A row of the table of routes, and its ASGI application: authentication, then the handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.delivery.sse import STREAM
from mobox.server.auth import tickets
from mobox.server.auth.authentication import Authenticator
from mobox.server.auth.principal import Principal
from mobox.server.eventstream import EventStream
from mobox.server.files.links import SIGNATURE, redeem_signature
from mobox.server.openapi import Operation, Parameter, kinds_of
from mobox.server.services import Services

Handler: TypeAlias = Callable[[Request, Services], Awaitable[ASGIApp]]


class Route(Operation, frozen=True, kw_only=True):
    """A row of the table: an operation, and the function that handles it."""

    handler: Handler


TICKET: Final = Parameter("ticket", "A ticket of `POST /api/tickets`, instead of a key.")
"""A route accepts tickets if its row lists this parameter."""
SIGNATURE_OF_FILE: Final = Parameter(
    SIGNATURE, "The signature of an address that this server gave out, instead of a key."
)
"""A route accepts signatures if its row lists this parameter."""


class Endpoint:
    """A row as an ASGI application: authenticates the client, then calls the handler."""

    def __init__(self, route: Route, services: Services, authenticator: Authenticator) -> None:
        self._route = route
        self._services = services
        self._authenticator = authenticator
        self._is_stream = any(STREAM in kinds_of(each) for each in route.responses.values())
        self._takes_tickets = TICKET in route.parameters
        self._takes_signatures = SIGNATURE_OF_FILE in route.parameters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, route = Request(scope, receive, send), self._route
        if route.scope is not None:
            principal = await self._authenticate(request)
            principal.check(route.scope)
            self._authenticator.remember(scope, principal)
        if route.scope is None or not self._is_stream:
            response = await route.handler(request, self._services)
            await response(scope, receive, send)
            return
        # Count it as a stream of the owner before the handler starts a run.
        with self._authenticator.connections.added(principal) as connection:
            response = await route.handler(request, self._services)
            if isinstance(response, EventStream):
                connection.end = response.end  # if the key is revoked while it is open
            await response(scope, receive, send)

    async def _authenticate(self, request: Request) -> Principal:
        if self._takes_signatures and SIGNATURE in request.query_params:
            return await self._by_signature(request)
        secret = request.query_params.get(TICKET.name) if self._takes_tickets else None
        if secret is None:
            return await self._authenticator.authenticate(request)
        run_id = request.path_params["run_id"]
        principal = await tickets.redeem_ticket(self._services.storage, secret, run_id)
        if principal is None:
            raise self._authenticator.refusal(
                "invalid, expired or already used ticket for this run"
            )
        return principal

    async def _by_signature(self, request: Request) -> Principal:
        files, written = self._services.storage.files, request.query_params[SIGNATURE]
        principal = await redeem_signature(files, request.path_params["file_id"], written)
        if principal is None:
            raise self._authenticator.refusal("invalid or expired signature for this file")
        return principal
