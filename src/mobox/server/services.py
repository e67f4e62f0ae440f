"""The services of a server, and helpers that all handlers of routes share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from mobox.capture.model_access import ModelAccess
from mobox.delivery.socketio import Sockets
from mobox.errors import InvalidRequest, NotJson
from mobox.events import JSON, json_text
from mobox.formatters.bodies import convert
from mobox.server.actions import ChatActions
from mobox.server.eventstream import Heartbeats
from mobox.server.heavy_reads import HeavyReads
from mobox.server.metrics import Registry
from mobox.server.readers import Readers
from mobox.server.readiness import Readiness
from mobox.server.session_index import SessionIndex
from mobox.server.website import Website
from mobox.settings import Settings
from mobox.storage import Storage
from mobox.supervisor import Supervisor

T = TypeVar("T")

AGENT: Final = "mobox.agent"
"""The key of an ASGI scope with the agent that an app's own route has chosen."""


class Process(Struct, frozen=True, kw_only=True):
    """The parts of every process that executes runs: a server or a worker."""

    settings: Settings
    storage: Storage
    supervisor: Supervisor
    metrics: Registry
    models: ModelAccess
    readiness: Readiness


class Services(Process, frozen=True, kw_only=True):
    """The parts of a server."""

    actions: ChatActions
    heartbeats: Heartbeats
    website: Website
    sockets: Sockets
    index: SessionIndex
    readers: Readers
    reads: HeavyReads
    complete: CompleteLogs


class CompleteLogs(Struct, frozen=True):
    """The logs with the details of errors, for operators; `Services.storage` may lack them."""

    storage: Storage
    index: SessionIndex


def forwarded_headers(connection: HTTPConnection, names: Iterable[str]) -> dict[str, str]:
    """The headers with these names that a client sent, for the agent."""
    found = {name: connection.headers.getlist(name) for name in names}
    return {name: ", ".join(values) for name, values in found.items() if values}


async def read_json(request: Request) -> JSON:
    """The JSON body of a request; an empty body counts as `{}`."""
    body = await request.body()
    try:
        return json_text.decode_json(body) if body else {}
    except NotJson as problem:
        raise InvalidRequest("", f"expected JSON: {problem}") from None


async def read_as(request: Request, shape: type[T]) -> T:
    """The JSON body of a request, converted to a type."""
    return convert("", await read_json(request), shape)


def json_response(value: object, status: int = 200) -> Response:
    """A JSON response."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")
