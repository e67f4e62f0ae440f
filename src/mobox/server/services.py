"""What the routes have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from mobox import json_text
from mobox.delivery.socketio import Sockets
from mobox.errors import InvalidRequest, NotJson
from mobox.events import JSON
from mobox.formatters.bodies import convert
from mobox.server.authentication import door_of, principal_of
from mobox.server.eventstream import Heartbeats
from mobox.server.metrics import Registry
from mobox.server.session_index import SessionIndex
from mobox.server.settings import Settings
from mobox.server.website import Website
from mobox.storage import Storage
from mobox.supervisor import Continued, Supervisor
from mobox.turn import Action
from mobox.turn import Request as Turn

__all__ = ["Services", "counted", "json_response", "owner_of", "read_as", "read_json"]

T = TypeVar("T")


class Services(Struct, frozen=True, kw_only=True):
    """What a server is made of."""

    settings: Settings
    storage: Storage
    supervisor: Supervisor
    heartbeats: Heartbeats
    metrics: Registry
    website: Website
    sockets: Sockets
    index: SessionIndex


def owner_of(connection: HTTPConnection) -> str:
    """Whose chats are asked for: who asks was found out at the door."""
    return principal_of(connection).owner


async def counted(
    connection: HTTPConnection, asked: Turn, say: Callable[[], Awaitable[Continued]]
) -> Continued:
    """Say it, or raise `TooOften` where an owner begins runs too fast.

    To answer begins none, nor does what was said before.
    """
    if asked.action is Action.CONTINUE:
        return await say()
    visits, owner = door_of(connection).visits, owner_of(connection)
    visits.begin(owner)
    told = await say()
    if not told.created:
        visits.take_back(owner)
    return told


async def read_json(request: Request) -> JSON:
    """The body of a request; an empty one is an object without fields."""
    body = await request.body()
    try:
        return json_text.decode(body) if body else {}
    except NotJson as problem:
        raise InvalidRequest("", f"expected JSON: {problem}") from None


async def read_as(request: Request, shape: type[T]) -> T:
    """The body of a request, in its shape."""
    return convert("", await read_json(request), shape)


def json_response(value: object, status: int = 200) -> Response:
    """The response that says `value`."""
    body = msgspec.json.encode(value)
    return Response(body, status, media_type="application/json")
