"""A row of the table of routes, and its ASGI application: authentication, then the handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from mobox.delivery.sse import STREAM
from mobox.server.auth import tickets
from mobox.server.auth.authentication import Authenticator
from mobox.server.auth.connections import OpenConnection
from mobox.server.auth.links import LinkAccess
from mobox.server.auth.principal import Principal
from mobox.server.eventstream import EventStream
from mobox.server.files.links import LINK, SIGNATURE, is_shared_signature, redeem_signature
from mobox.server.openapi import SHARED, Operation, Parameter, kinds_of
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

    def __init__(
        self, route: Route, services: Services, authenticator: Authenticator, links: LinkAccess
    ) -> None:
        self._route = route
        self._links = links
        self._services = services
        self._authenticator = authenticator
        self._is_shared = route.scope == SHARED
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
        # Count it as a stream of the owner, or of the link, before the handler starts a run.
        with self._streaming(principal) as connection:
            if not self._is_shared:
                await self._authenticator.connections.check_all_processes(connection)
            response = await route.handler(request, self._services)
            if isinstance(response, EventStream):
                connection.end = response.end  # if the key is revoked while it is open
            await response(scope, receive, send)

    def _streaming(self, principal: Principal) -> AbstractContextManager[OpenConnection]:
        if self._is_shared:
            return self._links.streaming(principal)
        return self._authenticator.connections.added(principal)

    async def _authenticate(self, request: Request) -> Principal:
        if self._is_shared:
            return await self._reader(request)
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

    async def _reader(self, request: Request) -> Principal:
        """The reader of a link, by its secret, or by the signature of a file in its chat."""
        if not self._takes_signatures:
            return await self._links.authenticate(request)
        link_id, written = (request.query_params.get(name, "") for name in (LINK, SIGNATURE))
        files, file_id = self._services.storage.files, request.path_params["file_id"]
        is_signed = await is_shared_signature(files, file_id, link_id, written)
        return self._links.admit(request, await self._links.find(link_id) if is_signed else None)

    async def _by_signature(self, request: Request) -> Principal:
        files, written = self._services.storage.files, request.query_params[SIGNATURE]
        principal = await redeem_signature(files, request.path_params["file_id"], written)
        if principal is None:
            raise self._authenticator.refusal("invalid or expired signature for this file")
        return principal
