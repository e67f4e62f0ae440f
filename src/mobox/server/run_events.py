"""The routes that tell what happened in a run, in any format, from any place on.

Rule 1: a place that is not there is an error which names the last one there is.
Rule 2: nothing to tell is 204, never an empty stream: who asks again and again by itself stops.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from mobox.delivery.session_index import SessionIndex
from mobox.errors import InvalidRequest
from mobox.formatters import Formatter, StoredRun, formatter_of_run, is_indexed, protocols
from mobox.server.eventstream import EventStream
from mobox.server.following import FormatTeller, Reading, Teller
from mobox.server.inspector import Inspector
from mobox.server.places import read_place
from mobox.server.services import Services, owner_of
from mobox.storage.log import Run

__all__ = ["RunsRoutes"]

CANONICAL: Final = "canonical"
LIVE: Final = {"sse": True, "off": False}


class RunsRoutes:
    """`/api/runs/{run_id}` and what is below it."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage
        self._heartbeats = services.heartbeats
        self._index = SessionIndex(services.storage)

    async def events(self, request: Request) -> ASGIApp:
        """What a run is in one format."""
        run = await self._run(request)
        name, profile = _asked(request, "format") or CANONICAL, _asked(request, "profile")

        stored = await self._stored(run, [name])

        def make() -> Teller:
            return FormatTeller(formatter_of_run(name, stored, profile))

        return await self._stream(request, run, make)

    async def inspect(self, request: Request) -> ASGIApp:
        """What a run was before, and is in several formats."""
        run = await self._run(request)
        asked = _formats(request)
        stored = await self._stored(run, asked)

        def make() -> Teller:
            formatters = {name: _formatter(name, stored) for name in asked}
            return Inspector(self._storage, run.id, formatters)

        return await self._stream(request, run, make)

    async def _run(self, request: Request) -> Run:
        return await self._storage.run(owner_of(request), request.path_params["run_id"])

    async def _stored(self, run: Run, formats: Iterable[str]) -> StoredRun:
        """Only a format that numbers the events of a whole chat has them counted."""
        counts = any(is_indexed(name.partition(":")[0]) for name in formats)
        first = await self._index.first_of(run) if counts else 0
        return StoredRun(id=run.id, chat_id=run.chat_id, owner=run.owner, first_event_index=first)

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


def _formatter(asked: str, run: StoredRun) -> Formatter:
    name, _, profile = asked.partition(":")
    return formatter_of_run(name, run, profile or None)
