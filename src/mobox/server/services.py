"""The services of a server, and helpers that all routes share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from mobox.delivery.socketio import Sockets
from mobox.errors import InvalidRequest, NotJson
from mobox.events import JSON, json_text
from mobox.events.turn import Action
from mobox.events.turn import Request as Turn
from mobox.formatters.bodies import convert
from mobox.server.auth.authentication import authenticator_of, principal_of
from mobox.server.eventstream import Heartbeats
from mobox.server.ops.metrics import Registry
from mobox.server.socketio.session_index import SessionIndex
from mobox.server.website import Website
from mobox.settings import Settings
from mobox.storage import Storage
from mobox.supervisor import Continued, Supervisor

T = TypeVar("T")


class Services(Struct, frozen=True, kw_only=True):
    """The parts of a server."""

    settings: Settings
    storage: Storage
    supervisor: Supervisor
    heartbeats: Heartbeats
    metrics: Registry
    website: Website
    sockets: Sockets
    index: SessionIndex


def owner_of(connection: HTTPConnection) -> str:
    """The owner of the authenticated client."""
    return principal_of(connection).owner


async def counted(
    connection: HTTPConnection, request: Turn, submit: Callable[[], Awaitable[Continued]]
) -> Continued:
    """Submit under the owner's rate limit; raises `RateLimited`.

    Answers and repeated requests start no run, and do not count.
    """
    if request.action is Action.CONTINUE:
        return await submit()
    visits, owner = authenticator_of(connection).visits, owner_of(connection)
    visits.begin(owner)
    continued = await submit()
    if not continued.created:
        visits.take_back(owner)
    return continued


async def read_json(request: Request) -> JSON:
    """The JSON body of a request; an empty body counts as `{}`."""
    body = await request.body()
    try:
        return json_text.decode(body) if body else {}
    except NotJson as problem:
        raise InvalidRequest("", f"expected JSON: {problem}") from None


async def read_as(request: Request, shape: type[T]) -> T:
    """The JSON body of a request, converted to a type."""
    return convert("", await read_json(request), shape)


def json_response(value: object, status: int = 200) -> Response:
    """A JSON response."""
    body = msgspec.json.encode(value)
    return Response(body, status, media_type="application/json")
