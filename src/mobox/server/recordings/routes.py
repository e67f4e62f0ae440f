"""The route that shows recordings: a file in the body, its rows for the inspector in the response.

Rule 1: nothing is stored by it, neither in the store nor in a file nor for the next request: a page
        that wants another format or framework sends the recording again.
Rule 2: the work is done in few threads, in slices, and for a limited time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.types import ASGIApp

from mobox.delivery import sse
from mobox.errors import PluginError, UnknownFramework
from mobox.formatters import get_formatter
from mobox.parsers import check_framework, frameworks
from mobox.server.eventstream import EventStream, Heartbeats
from mobox.server.formats import served_formats
from mobox.server.recordings.kinds import AUTO, LOG, Kind, Recording, open_recording
from mobox.server.recordings.logs import Step, steps_of
from mobox.server.recordings.prompts import prompt_of
from mobox.server.runs.inspector import Inspector
from mobox.server.services import Services
from mobox.settings import Settings
from mobox.storage.log import RunId

SECONDS: Final = 60.0
"""In which a recording must be read."""
AT_ONCE: Final = 2
"""Threads that read recordings: they take turns, slice by slice."""
_SLICE: Final = 200
"""Entries of one batch."""
_RUN: Final = RunId("recording")

threads: Final = ThreadPoolExecutor(AT_ONCE, "mobox-recordings")


class Detected(Struct, kw_only=True):
    """What the lines of a recording look like."""

    name: str
    framework: str | None
    """The framework that reads it; `null` if Mobox has no parser for it."""
    confidence: float


class RecordingView(Struct, kw_only=True):
    """How a recording is read. The first document of the response."""

    kind: Kind
    framework: str
    detected: Detected | None
    frameworks: list[str]
    """The frameworks to choose from."""
    prompt: str | None
    """The user's message, where the recording has it."""


class About(Struct, kw_only=True):
    """A document of the response that is no row."""

    recording: RecordingView | UnsetType = UNSET
    error: str | UnsetType = UNSET
    """The rest was not read."""


async def read_recording(request: Request, services: Services) -> ASGIApp:
    """The rows of a recording, in the requested formats."""
    return await recording_stream(request, services.settings, services.heartbeats)


async def recording_stream(
    request: Request, settings: Settings, heartbeats: Heartbeats
) -> EventStream:
    """The same, for a server without a store."""
    inspector = _inspector(request, settings)
    recording = await receive(request)
    batches = _in_slices(lambda: _documents(recording, inspector))
    return EventStream(batches, heartbeats)


async def receive(request: Request) -> Recording:
    """The recording in a request's body."""
    framework = request.query_params.get("framework") or AUTO
    return await asyncio.to_thread(_open, await request.body(), framework)


def _open(data: bytes, framework: str) -> Recording:
    if framework not in (AUTO, LOG):
        known = _frameworks()
        if framework not in known:
            raise UnknownFramework(framework, known)
    return open_recording(data, framework)


def _inspector(request: Request, settings: Settings) -> Inspector:
    formats = served_formats(settings, request.query_params.get("format"))
    made = {
        name: get_formatter(each.protocol, _RUN, each.profile) for name, each in formats.items()
    }
    return Inspector(None, _RUN, made)


def _documents(recording: Recording, inspector: Inspector) -> Iterator[bytes]:
    yield msgspec.json.encode(About(recording=_view(recording)))
    ends_at = time.monotonic() + SECONDS
    for step in steps_of(recording):
        if time.monotonic() > ends_at:
            problem = f"Only the beginning is shown: reading it took longer than {SECONDS:.0f} s."
            yield msgspec.json.encode(About(error=problem))
            return
        yield from _rows(inspector, step)


def _rows(inspector: Inspector, step: Step) -> Iterator[bytes]:
    lines, entries = list(step.lines), iter(step.entries)
    while some := list(islice(entries, _SLICE)):
        yield from inspector.rows(some, lines)
        lines = []
    inspector.rows((), lines)  # without an entry: they are shown at the next one


def _view(recording: Recording) -> RecordingView:
    guess = recording.guess
    return RecordingView(
        kind=recording.kind,
        framework=recording.framework,
        detected=None if guess is None else Detected(**guess._asdict()),
        frameworks=_frameworks(),
        prompt=prompt_in(recording),
    )


def prompt_in(recording: Recording) -> str | None:
    """The user's message, where the recording has it."""
    return prompt_of(recording.calls[0].request) if recording.calls else None


def _frameworks() -> list[str]:
    """Those whose parser can be loaded."""
    return [name for name in frameworks() if _is_usable(name)]


def _is_usable(framework: str) -> bool:
    try:
        check_framework(framework)
    except PluginError:
        return False
    return True


async def _in_slices(make: Callable[[], Iterator[bytes]]) -> AsyncIterator[bytes]:
    """The documents, made in threads, some at a time."""
    loop, documents = asyncio.get_running_loop(), make()
    while batch := await loop.run_in_executor(threads, lambda: list(islice(documents, _SLICE))):
        yield sse.encode(batch)
