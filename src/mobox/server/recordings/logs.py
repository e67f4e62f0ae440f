"""The log of a recording: made as `mobox convert` makes it, with the lines beside the entries.

Rule 1: times are those of the recording. A line without one has that of the line before.
Rule 2: a cassette is one run, and each call in it an execution of the agent; the results of tools
        are those that the next request has.
Rule 3: a log of Mobox is taken as it is, as far as it is valid; what is no entry is RAW.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, count, repeat
from typing import Final, NamedTuple

import msgspec

from mobox.capture.jsonlines import END, JsonLines
from mobox.capture.pipeline import Recorder
from mobox.errors import CorruptLog
from mobox.events import JSON, LATEST, Events, LogEntry, Raw, StreamEvent, ToolResult, decode
from mobox.lifecycle import Lifecycle
from mobox.models.cassettes import Recorded, response_of
from mobox.parsers import EmittedParser
from mobox.server.recordings.kinds import Kind, Recording
from mobox.server.recordings.prompts import results_of
from mobox.storage.log import RawEntry

_READ: Final = 64 * 1024
_TIME_KEYS: Final = ("timestamp", "ts", "time", "created_at")
_SECONDS: Final = 10**11
"""A number below it is a time in seconds."""


class Step(NamedTuple):
    """Some lines, and the entries that were parsed from them."""

    lines: list[RawEntry]
    entries: list[LogEntry]


class Parsed(NamedTuple):
    """A line, if there is one, and its events."""

    line: bytes | None
    events: Events
    ts: int | None = None
    """Its time, if that is known without the line."""


def steps_of(recording: Recording) -> Iterator[Step]:
    """The log, as much of it as is read at a time."""
    numbered = _Numbering()
    for parsed in _READERS[recording.kind](recording):
        yield numbered.step(parsed)


def _output(recording: Recording) -> Iterator[list[Parsed]]:
    recorder = Recorder(recording.framework)
    for data in _pieces(recording.data):
        yield [_with_line(item, events) for item, events in recorder.parse(data)]
    yield [_with_line(item, events) for item, events in recorder.parse(END)]
    yield [Parsed(None, _ending(recorder))]


def _calls(recording: Recording) -> Iterator[list[Parsed]]:
    recorder, known = Recorder(recording.framework), set[str]()
    for number, call in enumerate(recording.calls):
        if number:
            yield [Parsed(None, recorder.finish_execution())]
            recorder.begin_execution(f"{number}.")
        begins, ends = _times(call)
        results = _results(recorder, call.request, known, is_first=not number)
        yield [result._replace(ts=begins) for result in results]
        times = chain((begins,), repeat(ends))  # only when it began and ended is known
        for data in (*_pieces(response_of(call)), END):
            read = recorder.parse(data)
            yield [_with_line(*each)._replace(ts=ts) for each, ts in zip(read, times, strict=False)]
    yield [Parsed(None, _ending(recorder))]


def _times(call: Recorded) -> tuple[int | None, int | None]:
    if not call.started_at:
        return None, None
    return call.started_at, call.started_at + call.duration_ms


def _results(
    recorder: Recorder, request: JSON, known: set[str], *, is_first: bool
) -> Iterator[Parsed]:
    """The results of tools that are new in this request; those of the first are history."""
    for result in results_of(request):
        if result.call_id not in known and not is_first:
            event = ToolResult(
                id=result.call_id,
                output=result.output,
                status="error" if result.is_error else "ok",
            )
            line = msgspec.json.encode(result.source)
            yield Parsed(line, recorder.lifecycle.feed_line([event]))
        known.add(result.call_id)


def _ending(recorder: Recorder) -> Events:
    """The end of the run, unless it waits for an answer there."""
    last = recorder.finish_execution()
    last += recorder.lifecycle.pause_again(at_end=True)
    return last + recorder.end(None)


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _READ] for start in range(0, len(data), _READ))


def _with_line(item: bytes | Raw, events: Events) -> Parsed:
    raw = item if isinstance(item, bytes) else str(item.raw).encode(errors="replace")
    return Parsed(raw, events)


class _Numbering:
    """Numbers lines and entries."""

    def __init__(self) -> None:
        self._lines = count(1)
        self._seq = 0
        self._ts: int | None = None

    def step(self, parsed: Iterable[Parsed]) -> Step:
        step = Step([], [])
        for line, events, ts in parsed:
            first = self._seq + 1
            found = ts if ts is not None or line is None else _time_of(line)
            if found is not None and 0 < found <= LATEST:
                self._ts = max(self._ts or 0, found)
            step.entries.extend(self._entry(event) for event in events)
            if line is not None:
                numbers = {"n": next(self._lines), "first_seq": first, "last_seq": self._seq}
                step.lines.append(RawEntry(line=line, **numbers))
        return step

    def _entry(self, event: StreamEvent) -> LogEntry:
        self._seq += 1
        return LogEntry(self._seq, self._seq, self._ts, event)


def _time_of(line: bytes) -> int | None:
    """When a line was written, in milliseconds, if it says so."""
    if not any(key.encode() in line for key in _TIME_KEYS):
        return None
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    found = (value.get(key) for key in _TIME_KEYS) if isinstance(value, dict) else ()
    return next(filter(None, map(_milliseconds, found)), None)


def _milliseconds(value: JSON) -> int | None:
    if isinstance(value, str):
        try:
            return int(datetime.fromisoformat(value).timestamp() * 1000)
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    return int(value * 1000 if value < _SECONDS else value)


def _log(recording: Recording) -> Iterator[list[Parsed]]:
    """The events of a log of Mobox, repaired: it may have been cut, or edited."""
    lines, lifecycle = JsonLines(), Lifecycle(EmittedParser.framework)
    for piece in (*_pieces(recording.data), END):
        read = [_stored(item) for item in lines.split(piece)]
        yield [Parsed(None, lifecycle.feed_line([event]), ts) for ts, event in read]
    yield [Parsed(None, lifecycle.close(None))]


def _stored(item: bytes | Raw) -> tuple[int | None, StreamEvent]:
    if isinstance(item, Raw):
        return None, item
    try:
        entry = decode(item)
    except (CorruptLog, RecursionError):
        return None, Raw(raw=item.decode(errors="replace"), source="not an entry of a log")
    return entry.ts, entry.event


_READERS: Final[Mapping[Kind, Callable[[Recording], Iterator[list[Parsed]]]]] = {
    "output": _output,
    "cassette": _calls,
    "log": _log,
}
