"""The routes of one run: its events in any format, from any cursor, and its agent's stderr.

Rule 1: a cursor beyond the end is an error, which has the `tail` of the log.
Rule 2: nothing new is 204, never an empty stream: `EventSource` stops reconnecting at 204.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.capture.catalog import FunctionAgent
from mobox.errors import InvalidRequest, NotPermitted, PluginError
from mobox.events.printable import printable
from mobox.formatters import Formatter, profiles_of, protocols
from mobox.server.auth.principal import owner_of, sees_details
from mobox.server.eventstream import EventStream
from mobox.server.formats import served_format, served_formats
from mobox.server.runs.inspector import Inspector
from mobox.server.runs.reader import (
    ProtocolRunFormatter,
    RunFormatter,
    RunReader,
    parse_cursor,
    run_formatters,
)
from mobox.server.services import Services, json_response
from mobox.storage.log import Log, Run

CANONICAL: Final = "canonical"
LIVE: Final = {"sse": True, "off": False}


class FormatRow(Struct, kw_only=True):
    """A format and its profiles, the default first."""

    name: str
    profiles: list[str]


class FormatList(Struct, kw_only=True):
    """The values of `format`."""

    formats: list[FormatRow]


class LegStderr(Struct, kw_only=True):
    """The end of the stderr of one attempt."""

    leg: int
    text: str


class Stderr(Struct, kw_only=True):
    """The stderr of a run's attempts, as far as it is stored."""

    legs: list[LegStderr]


async def stream_events(request: Request, services: Services) -> ASGIApp:
    """A run in one format."""
    run = await _run(request, services)
    protocol, profile = _parameter(request, "format"), _parameter(request, "profile")
    fmt = served_format(services.settings, protocol or CANONICAL, profile)
    make = run_formatters(run, [fmt], lambda made: ProtocolRunFormatter(*made), services.index)
    return await _stream(request, services, run, make)


async def inspect_run(request: Request, services: Services) -> ASGIApp:
    """The raw lines of a run, and its frames in several formats; all formats by default."""
    run = await _run(request, services)
    formats = served_formats(services.settings, _parameter(request, "format"))
    logs = services.complete if sees_details(request, services.settings) else services

    def make(formatters: list[Formatter]) -> RunFormatter:
        return Inspector(logs.storage, run.id, dict(zip(formats, formatters, strict=True)))

    makers = run_formatters(run, list(formats.values()), make, logs.index)
    return await _stream(request, services, run, makers, logs.storage)


async def read_stderr(request: Request, services: Services) -> Response:
    """The agent's stderr so far, with control characters escaped.

    Only for operators, if the details of errors are not shown to readers.
    Tracebacks of function agents belong to the program, which has them in its log, and are not
    returned. Neither is the stderr of removed agents, which may have been functions.
    """
    if not sees_details(request, services.settings):
        raise NotPermitted("operate")
    run, supervisor = await _run(request, services), services.supervisor
    processes = [a.id for a in supervisor.catalog if not isinstance(a, FunctionAgent)]
    stored = await supervisor.stderr_of(run.owner, run.id) if run.agent in processes else {}
    attempts = [LegStderr(leg=number, text=printable(text)) for number, text in stored.items()]
    return json_response(Stderr(legs=attempts))


async def list_formats(_request: Request, _services: Services) -> Response:
    """The formats that a run can be read in."""
    return json_response(format_list())


def format_list() -> FormatList:
    """All formats, without those of broken plugins."""
    formats = []
    for name in protocols():
        with suppress(PluginError):
            formats.append(FormatRow(name=name, profiles=list(profiles_of(name))))
    return FormatList(formats=formats)


async def _run(request: Request, services: Services) -> Run:
    return await services.storage.run(owner_of(request), request.path_params["run_id"])


async def _stream(
    request: Request,
    services: Services,
    run: Run,
    make: Callable[[], RunFormatter],
    log: Log | None = None,
) -> ASGIApp:
    live = _parameter(request, "live") or "sse"
    if live not in LIVE:
        raise InvalidRequest("live", f"expected sse or off, got {live[:20]!r}")
    reader = RunReader(log or services.storage, run, make)
    # A reconnecting `EventSource` sends the newer cursor in the header.
    cursor = request.headers.get("last-event-id") or _parameter(request, "after")
    if cursor is not None:
        await reader.go_to(parse_cursor(cursor, run.tail_seq))
    headers = {"x-mobox-run": run.id, "x-mobox-status": run.status}
    batches = reader.sse_batches(live=LIVE[live])
    if LIVE[live] and run.status != "done":  # more events will come
        return EventStream(batches, services.heartbeats, headers, services.readers.reading(run))
    first = await anext(batches, None)
    if first is None:
        return Response(status_code=204, headers=headers)
    return EventStream(_chained(first, batches), services.heartbeats, headers)


async def _chained(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for batch in rest:
            yield batch


def _parameter(request: Request, name: str) -> str | None:
    """A query parameter; an empty one counts as missing."""
    return request.query_params.get(name) or None
