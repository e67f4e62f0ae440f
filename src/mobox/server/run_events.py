"""The routes that tell what happened in a run, in any format, from any place on.

Rule 1: a place that is not there is an error which names the last one there is.
Rule 2: nothing to tell is 204, never an empty stream: who asks again and again by itself stops.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.errors import InvalidRequest, PluginError
from mobox.formatters import Formatter, profiles_of, protocols
from mobox.function_agents import FunctionAgent
from mobox.printable import printable
from mobox.server.eventstream import EventStream
from mobox.server.inspector import Inspector
from mobox.server.places import read_place
from mobox.server.reading import FormatTeller, Reading, Teller, tellers
from mobox.server.services import Services, json_response, owner_of
from mobox.server.session_index import Format
from mobox.storage.log import Run

__all__ = ["FormatList", "RunsRoutes", "Stderr"]

CANONICAL: Final = "canonical"
LIVE: Final = {"sse": True, "off": False}


class FormatRow(Struct, kw_only=True):
    """A format, and the profiles that it has, the default first."""

    name: str
    profiles: list[str]


class FormatList(Struct, kw_only=True):
    """All that `format` may name."""

    formats: list[FormatRow]


class LegStderr(Struct, kw_only=True):
    """The end of what one execution of the agent wrote to stderr."""

    leg: int
    text: str


class Stderr(Struct, kw_only=True):
    """What the agent of a run wrote to stderr, as far as it has ended and it is kept."""

    legs: list[LegStderr]


class RunsRoutes:
    """`/api/runs/{run_id}`, what is below it, and `/api/formats`."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._supervisor = services.supervisor
        self._heartbeats = services.heartbeats
        self._index = services.index

    async def events(self, request: Request) -> ASGIApp:
        """What a run is in one format."""
        run = await self._run(request)
        fmt = Format(_asked(request, "format") or CANONICAL, _asked(request, "profile"))

        def tell(formatters: list[Formatter]) -> Teller:
            return FormatTeller(*formatters)

        return await self._stream(request, run, tellers(run, [fmt], tell, self._index))

    async def inspect(self, request: Request) -> ASGIApp:
        """What a run was before, and is in several formats."""
        run = await self._run(request)
        asked = _formats(request)

        def tell(formatters: list[Formatter]) -> Teller:
            return Inspector(self._storage, run.id, dict(zip(asked, formatters, strict=True)))

        formats = [_format(name) for name in asked]
        return await self._stream(request, run, tellers(run, formats, tell, self._index))

    async def stderr(self, request: Request) -> Response:
        """What the agent complained of; nothing in it that whoever shows it would obey.

        What a function raised is the program's own affair, which has it in its log. Whether an
        agent that is not there any more was one, nobody knows.
        """
        run = await self._run(request)
        processes = [a.id for a in self._supervisor.catalog if not isinstance(a, FunctionAgent)]
        is_process = run.agent in processes
        kept = await self._supervisor.stderr_of(run.owner, run.id) if is_process else {}
        legs = [LegStderr(leg=leg, text=printable(text)) for leg, text in kept.items()]
        return json_response(Stderr(legs=legs))

    async def formats(self, _request: Request) -> Response:
        """What a run can be told in."""
        return json_response(FormatList(formats=list(_usable_formats())))

    async def _run(self, request: Request) -> Run:
        return await self._storage.run(owner_of(request), request.path_params["run_id"])

    async def _stream(self, request: Request, run: Run, make: Callable[[], Teller]) -> ASGIApp:
        reading, live = Reading(self._storage, run, make), _live(request)
        if (told := _cursor(request)) is not None:
            await reading.go_to(read_place(told, run.tail_seq))
        headers = {"x-mobox-run": run.id, "x-mobox-status": run.status}
        batches = reading.told(live=live)
        if live and run.status != "done":  # something will come
            return EventStream(batches, self._heartbeats, headers)
        first = await anext(batches, None)
        if first is None:
            return Response(status_code=204, headers=headers)
        return EventStream(_chained(first, batches), self._heartbeats, headers)


def _usable_formats() -> Iterator[FormatRow]:
    """A package that is broken is in the way of nothing else."""
    for name in protocols():
        with suppress(PluginError):
            yield FormatRow(name=name, profiles=list(profiles_of(name)))


async def _chained(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for batch in rest:
            yield batch


def _asked(request: Request, name: str) -> str | None:
    """What is asked for; what is empty is not."""
    return request.query_params.get(name) or None


def _cursor(request: Request) -> str | None:
    """Where to go on: a client that comes back by itself says so in a header, and means that."""
    return request.headers.get("last-event-id") or _asked(request, "after")


def _live(request: Request) -> bool:
    told = _asked(request, "live") or "sse"
    if told not in LIVE:
        raise InvalidRequest("live", f"expected sse or off, got {told[:20]!r}")
    return LIVE[told]


def _formats(request: Request) -> list[str]:
    """The formats that are asked for, each perhaps with a profile: all, if none is."""
    told = _asked(request, "format")
    return list(dict.fromkeys(told.split(","))) if told is not None else protocols()


def _format(asked: str) -> Format:
    name, _, profile = asked.partition(":")
    return Format(name, profile or None)
