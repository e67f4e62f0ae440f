"""Runs that are stored without having been executed, and readers of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import httpx

from mobox.capture.jsonlines import JsonLines
from mobox.capture.pipeline import Recorder
from mobox.events import LogEntry, StreamEvent
from mobox.server.services import Services
from mobox.settings import OWNER
from mobox.storage.log import RawLine, Run
from server.app_client import begin

RECORDINGS = Path(__file__).parent.parent / "recordings"


class Told(NamedTuple):
    """One document and its cursor."""

    id: str | None
    data: str


def told_in(body: str) -> list[Told]:
    """The events of a stream."""
    *frames, nothing = body.split("\n\n")
    assert nothing == ""
    return [_told(frame) for frame in frames if frame != ":"]


def _told(frame: str) -> Told:
    fields = dict(line.split(": ", 1) for line in frame.split("\n"))
    assert fields.keys() <= {"id", "data"}, frame
    return Told(fields.get("id"), fields["data"])


async def read(client: httpx.AsyncClient, run: Run, **query: str) -> list[Told]:
    """What there is of a run now."""
    path = f"/api/runs/{run.id}/events"
    response = await client.get(path, params={"live": "off", **query})
    assert response.status_code == 200, response.text
    return told_in(response.text)


async def recorded(services: Services, name: str, chat_id: str = "c1") -> Run:
    """A run that says what a recording says, line by line."""
    run = await begin(services, chat_id, "Go")
    framework = name.partition("/")[0]
    lines, recorder = JsonLines(), Recorder(framework)
    for line in (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines():
        entries = recorder.feed(lines.feed(line + b"\n"))
        raw = [RawLine(line, 0, len(entries))]
        await append(services, run, [entry.event for entry in entries], raw)
    await append(services, run, [entry.event for entry in recorder.close()])
    return await services.storage.run(OWNER, run.id)


async def append(
    services: Services, run: Run, events: Sequence[StreamEvent], raw: Sequence[RawLine] = ()
) -> None:
    if events or raw:
        await services.storage.append(run.id, run.epoch, events, 1000, raw)


async def log_of(services: Services, run: Run) -> list[LogEntry]:
    entries: list[LogEntry] = []
    while page := await services.storage.read(run.id, len(entries)):
        entries += page
    return entries
