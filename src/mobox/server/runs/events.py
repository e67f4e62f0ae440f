"""The routes that stream a run in any format, from any cursor.

Rule 1: a cursor beyond the end is an error, which has the `tail` of the log.
Rule 2: nothing new is 204, never an empty stream: `EventSource` stops reconnecting at 204.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.capture.catalog import FunctionAgent
from mobox.errors import InvalidRequest, PluginError
from mobox.events.printable import printable
from mobox.formatters import Formatter, profiles_of, protocols
from mobox.server.eventstream import EventStream
from mobox.server.runs.inspector import Inspector
from mobox.server.runs.reader import (
    ProtocolRunFormatter,
    RunFormatter,
    RunReader,
    parse_cursor,
    run_formatters,
)
from mobox.server.services import Services, json_response, owner_of
from mobox.server.socketio.session_index import Format
from mobox.storage.log import Run

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
    """The stderr of a run's attempts that have ended, as far as it is stored."""

    legs: list[LegStderr]


class RunsRoutes:
    """`/api/runs/{run_id}`, what is below it, and `/api/formats`."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._supervisor = services.supervisor
        self._heartbeats = services.heartbeats
        self._index = services.index

    async def events(self, request: Request) -> ASGIApp:
        """A run in one format."""
        run = await self._run(request)
        fmt = Format(_parameter(request, "format") or CANONICAL, _parameter(request, "profile"))

        def make(formatters: list[Formatter]) -> RunFormatter:
            return ProtocolRunFormatter(*formatters)

        return await self._stream(request, run, run_formatters(run, [fmt], make, self._index))

    async def inspect(self, request: Request) -> ASGIApp:
        """The raw lines of a run, and its frames in several formats."""
        run = await self._run(request)
        names = _formats(request)

        def make(formatters: list[Formatter]) -> RunFormatter:
            return Inspector(self._storage, run.id, dict(zip(names, formatters, strict=True)))

        formats = [_format(name) for name in names]
        return await self._stream(request, run, run_formatters(run, formats, make, self._index))

    async def stderr(self, request: Request) -> Response:
        """The agent's stderr, with control characters escaped.

        Tracebacks of function agents belong to the program, which has them in its log, and are not
        returned. Neither is the stderr of removed agents, which may have been functions.
        """
        run = await self._run(request)
        processes = [a.id for a in self._supervisor.catalog if not isinstance(a, FunctionAgent)]
        is_process = run.agent in processes
        stored = await self._supervisor.stderr_of(run.owner, run.id) if is_process else {}
        attempts = [LegStderr(leg=number, text=printable(text)) for number, text in stored.items()]
        return json_response(Stderr(legs=attempts))

    async def formats(self, _request: Request) -> Response:
        """List the formats that a run can be read in."""
        return json_response(FormatList(formats=list(_usable_formats())))

    async def _run(self, request: Request) -> Run:
        return await self._storage.run(owner_of(request), request.path_params["run_id"])

    async def _stream(
        self, request: Request, run: Run, make: Callable[[], RunFormatter]
    ) -> ASGIApp:
        reading, live = RunReader(self._storage, run, make), _live(request)
        if (cursor := _cursor(request)) is not None:
            await reading.go_to(parse_cursor(cursor, run.tail_seq))
        headers = {"x-mobox-run": run.id, "x-mobox-status": run.status}
        batches = reading.told(live=live)
        if live and run.status != "done":  # more events will come
            return EventStream(batches, self._heartbeats, headers)
        first = await anext(batches, None)
        if first is None:
            return Response(status_code=204, headers=headers)
        return EventStream(_chained(first, batches), self._heartbeats, headers)


def _usable_formats() -> Iterator[FormatRow]:
    """All formats but those of broken plugins."""
    for name in protocols():
        with suppress(PluginError):
            yield FormatRow(name=name, profiles=list(profiles_of(name)))


async def _chained(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for batch in rest:
            yield batch


def _parameter(request: Request, name: str) -> str | None:
    """A query parameter; an empty one counts as missing."""
    return request.query_params.get(name) or None


def _cursor(request: Request) -> str | None:
    """The cursor to resume from. A reconnecting `EventSource` sends the newer one in the header."""
    return request.headers.get("last-event-id") or _parameter(request, "after")


def _live(request: Request) -> bool:
    value = _parameter(request, "live") or "sse"
    if value not in LIVE:
        raise InvalidRequest("live", f"expected sse or off, got {value[:20]!r}")
    return LIVE[value]


def _formats(request: Request) -> list[str]:
    """The requested formats, each with an optional profile; all by default."""
    names = _parameter(request, "format")
    return list(dict.fromkeys(names.split(","))) if names is not None else protocols()


def _format(text: str) -> Format:
    name, _, profile = text.partition(":")
    return Format(name, profile or None)
