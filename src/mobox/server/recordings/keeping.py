"""Keeps a recording as a chat of its owner: a message, and a run with its log.

Rule 1: all of it is read before anything is stored. A chat whose log cannot be stored whole is
        deleted again.
Rule 2: times are those of the recording, rounded to `MOMENTS` of them: each is a commit.
Rule 3: nobody executes the run: one that waits in the recording is stored as interrupted.
Rule 4: it counts as a run that its owner started (`max_runs_per_minute`).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.capture.pipeline import Recorder
from mobox.errors import InvalidRequest
from mobox.events import Done, Events, LogEntry
from mobox.events.turn import Action, PromptText, UserMessage
from mobox.events.turn import Request as TurnRequest
from mobox.parsers import EmittedParser
from mobox.server.auth.authentication import authenticator_of
from mobox.server.auth.principal import owner_of
from mobox.server.recordings.kinds import LOG, Recording
from mobox.server.recordings.logs import steps_of
from mobox.server.recordings.routes import SECONDS, prompt_in, receive, threads
from mobox.server.services import Services, json_response
from mobox.storage.log import RECORDED, RawEntry, RawLine, Run

MOST: Final = 100_000
"""Entries of a log."""
MOMENTS: Final = 1000
_TITLE: Final = 200
_UNNAMED: Final = "Recording"


class KeptRecording(Struct, rename="camel", kw_only=True):
    """The chat that was made of a recording."""

    chat_id: str
    run_id: str


class Batch(NamedTuple):
    """Events of one moment, and the lines that they were parsed from."""

    ts: int | None
    events: Events
    lines: list[RawLine]


async def keep_recording(request: Request, services: Services) -> Response:
    """Store a recording as a chat."""
    owner = owner_of(request)
    recording = await receive(request)
    await authenticator_of(request).rate_limit.count(owner)
    loop = asyncio.get_running_loop()
    batches = await loop.run_in_executor(threads, lambda: batches_of(recording))
    message = _message(recording, request.query_params.get("name", ""))
    kept = asyncio.ensure_future(_store(services, owner, recording, message, batches))
    return json_response(await asyncio.shield(kept), 201)


async def _store(
    services: Services, owner: str, recording: Recording, message: UserMessage, batches: list[Batch]
) -> KeptRecording:
    storage, chat_id = services.storage, f"chat_{secrets.token_hex(12)}"
    turn = TurnRequest(chat_id=chat_id, action=Action.SUBMIT, message=message)
    begun = await storage.begin_turn(owner, turn, RECORDED, _framework(recording))
    try:
        await _append(services, begun.run, batches)
    except Exception:
        await storage.delete(owner, chat_id)
        raise
    return KeptRecording(chat_id=chat_id, run_id=begun.run.id)


async def _append(services: Services, run: Run, batches: list[Batch]) -> None:
    await services.storage.hand_over(run.id, run.epoch)  # no process is to execute it
    for ts, events, lines in batches:
        await services.storage.append(run.id, run.epoch, events, ts, lines)


def _message(recording: Recording, name: str) -> UserMessage:
    """The user's message; where the recording has none, the name of the file."""
    printable = "".join(filter(str.isprintable, name)).strip()[:_TITLE]
    text = prompt_in(recording) or printable or _UNNAMED
    return UserMessage(id=f"msg_{secrets.token_hex(12)}", parts=(PromptText(text=text),))


def _framework(recording: Recording) -> str:
    return EmittedParser.framework if recording.framework == LOG else recording.framework


def batches_of(recording: Recording) -> list[Batch]:
    """The log, as it is appended; raises `InvalidRequest` if it is too long."""
    entries, lines = _read(recording)
    last: Events = []
    if not entries or not isinstance(entries[-1].event, Done):
        recorder = Recorder(_framework(recording), begin=False)
        recorder.recall([entry.event for entry in entries])
        last = recorder.end(Done(reason="interrupted"))
    batches = list(_grouped(entries, lines))
    ts = batches[-1].ts if batches else None
    return [*batches, Batch(ts, last, [])] if last else batches


def _read(recording: Recording) -> tuple[list[LogEntry], list[RawEntry]]:
    entries: list[LogEntry] = []
    lines: list[RawEntry] = []
    ends_at = time.monotonic() + SECONDS
    for step in steps_of(recording):
        entries += step.entries
        lines += step.lines
        if len(entries) > MOST:
            raise InvalidRequest("", f"too long to keep: it has more than {MOST:,} events")
        if time.monotonic() > ends_at:
            raise InvalidRequest("", f"too long to keep: reading took more than {SECONDS:.0f} s")
    return entries, lines


def _grouped(entries: list[LogEntry], lines: list[RawEntry]) -> Iterator[Batch]:
    times = [entry.ts for entry in entries if entry.ts is not None]
    start, span = (times[0], times[-1] - times[0]) if times else (0, 0)
    length = span // MOMENTS + 1

    def moment(entry: LogEntry) -> int | None:
        return None if entry.ts is None else start + (entry.ts - start) // length * length

    groups = [(ts, list(group)) for ts, group in groupby(entries, moment)]
    at = 0
    for number, (ts, group) in enumerate(groups, 1):
        first, last = group[0].seq, group[-1].seq
        end = at
        while end < len(lines) and (lines[end].first_seq <= last or number == len(groups)):
            end += 1
        raw = [
            RawLine(line.line, line.first_seq - first, line.last_seq - first + 1)
            for line in lines[at:end]
        ]
        yield Batch(ts, [entry.event for entry in group], raw)
        at = end
