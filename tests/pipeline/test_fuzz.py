"""Recordings that went bad: whatever an agent prints, its run is logged and every client reads it.

A few minutes in all; `FUZZ=3` spoils three times as much. In CI the examples are always the same
(conftest.py). A failure leaves its bytes in .reports/fuzz/, where `mobox convert` and
`scripts/judge-recordings` can read them.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mobox import LogEntry, Recorder, get_formatter
from mobox.events import Done, Raw, decode_many, encode_many
from mobox.events.message import Message
from mobox.events.transcript import build_message
from mobox.formatters import format_all, profiles_of
from mobox.formatters.ag_ui import snapshot
from mobox.formatters.ai_sdk import ui_message
from mobox.lifecycle import Lifecycle
from mobox.parsers import FAILED
from support.grammar_ag_ui import check_ag_ui
from support.grammar_agent_event import check_agent_events
from support.grammar_ai_sdk import PROFILES, check_ai_sdk
from support.grammar_log import legal_log
from support.grammar_panes import check_panes

TESTS = Path(__file__).parents[1]
REPORTS = TESTS.parent / ".reports" / "fuzz"

RECORDINGS: dict[str, list[Path]] = defaultdict(list)
for path in sorted(TESTS.glob("recordings/*/*")):
    RECORDINGS[path.parent.name].append(path)

pytestmark = pytest.mark.hypothesis  # for `make fuzz`: the properties here are inside the tests

FUZZ = int(os.environ.get("FUZZ", "1"))
MOST_EXAMPLES, LEAST_EXAMPLES = 100 * FUZZ, 20 * FUZZ
BYTES = 5_000_000 * FUZZ
"""What all examples of a framework may come to, so that long recordings take no longer."""


ODDITIES: list[Any] = [
    *(None, True, False, 0, -1, 7, 1.5, -0.0, 1e308, 2**53 + 1, 2**64, -(2**70)),
    *("", "x", " ", "0", "text", "tool_use", "tool_result", "assistant", "end_turn", "r"),
    *("\x00", "\x1b[31m", "\u2028\u2029\x85", "\ufeff", "\u202eabc", "e\u0301", "👩‍👩‍👧", "\ud83d"),
    *('{"a": 1}', "[DONE]", "data: {}", "__proto__", "constructor", "é" * 70_000, "\n" * 3),
    *([], {}, [[]], [None], [1, "a"], {"": None}, {"a": {"b": []}}, [{"type": "text"}]),
    *({"__proto__": {"a": 1}}, {"constructor": {"prototype": {}}}, {"type": "x", "id": 1}),
]
"""Values that no schema expects; the lone surrogate is written as an escape."""

NOISE = [b"\xff\xfe", b"\xc3", b"\x00", b"\r", b"NaN", b'"', b"}", b"[" * 300, b"\n", b"\\ud800"]
KINDS = ("type", "subtype", "event", "event_type", "_class", "_lc", "role")
GONE = object()

numbers = st.integers(min_value=0)
oddities = st.sampled_from(ODDITIES)
noises = st.sampled_from([b"", *NOISE])


class Spoiled(NamedTuple):
    """A recording that went bad, and how."""

    recording: Path
    lines: list[bytes]
    how: list[str]

    @property
    def data(self) -> bytes:
        return b"\n".join(self.lines)


class Line(NamedTuple):
    """A line that holds a JSON object, maybe behind the name of an SSE field."""

    number: int
    prefix: bytes
    value: dict[str, Any]


@cache
def lines_by_kind(recording: Path) -> dict[str, list[Line]]:
    """So that what is said once is spoiled as often as what is said a thousand times."""
    kinds: dict[str, list[Line]] = defaultdict(list)
    for number, line in enumerate(recording.read_bytes().split(b"\n")):
        prefix, brace, rest = line.partition(b"{")
        if brace:
            value = json.loads(brace + rest)
            kinds[kind_of(value)].append(Line(number, prefix, value))
    return kinds


def kind_of(value: Any, depth: int = 3) -> str:
    """The words, a few levels down, by which a framework tells its lines apart."""
    if not isinstance(value, dict) or not depth:
        return ""
    own = [str(value[key]) for key in KINDS if isinstance(value.get(key), str)]
    return " ".join([*own, *filter(None, (kind_of(v, depth - 1) for v in value.values()))])


@cache
def recordings_by_kind(framework: str) -> dict[str, list[Path]]:
    kinds: dict[str, list[Path]] = defaultdict(list)
    for recording in RECORDINGS[framework]:
        for kind in lines_by_kind(recording):
            kinds[kind].append(recording)
    return kinds


# Each is made once: to make a strategy takes longer than to draw from it.


@cache
def a_line(recording: Path) -> SearchStrategy[Line]:
    kinds = sorted(lines_by_kind(recording))
    return st.sampled_from(kinds).flatmap(lambda kind: a_line_of(recording, kind))


@cache
def a_line_of(recording: Path, kind: str) -> SearchStrategy[Line]:
    return st.sampled_from(lines_by_kind(recording)[kind])


@cache
def some_lines(recording: Path) -> SearchStrategy[list[Line]]:
    return st.lists(a_line(recording), max_size=3)


@cache
def a_kind(framework: str) -> SearchStrategy[str]:
    return st.sampled_from(sorted(recordings_by_kind(framework)))


@cache
def a_recording(framework: str, kind: str) -> SearchStrategy[Path]:
    return st.sampled_from(recordings_by_kind(framework)[kind])


@st.composite
def a_place(draw: DrawFn, value: Any) -> tuple[Any, ...]:
    """The path to a value within a value; one near the top is as likely as all below another."""
    path: list[Any] = []
    while isinstance(value, dict | list) and value and (not path or draw(st.booleans())):
        keys = sorted(value) if isinstance(value, dict) else range(len(value))
        path.append(keys[draw(st.integers(0, len(keys) - 1))])
        value = value[path[-1]]
    return tuple(path)


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """`value` with `new` at that place, or without anything there."""
    if not path:
        return {} if new is GONE else new
    copy = value.copy()
    if len(path) == 1 and new is GONE:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@st.composite
def a_value(draw: DrawFn, recording: Path) -> Any:
    """An odd one, none, or one that stands elsewhere, such as the id of another call."""
    match draw(st.integers(0, 3)):
        case 0:
            return GONE
        case 1:
            value = draw(a_line(recording)).value
            return at(value, draw(a_place(value)))
        case _:
            return draw(oddities)


# What happens to lines, at one place or two


def drop(_draw: DrawFn, lines: list[bytes], here: int, _there: int) -> None:
    del lines[here]


def repeat(_draw: DrawFn, lines: list[bytes], here: int, there: int) -> None:
    lines.insert(there, lines[here])


def swap(_draw: DrawFn, lines: list[bytes], here: int, there: int) -> None:
    lines[here], lines[there] = lines[there], lines[here]


def truncate(draw: DrawFn, lines: list[bytes], here: int, _there: int) -> None:
    """The source ends in the middle of a line."""
    del lines[here + 1 :]
    lines[here] = lines[here][: draw(numbers) % (len(lines[here]) + 1)]


def cut(draw: DrawFn, lines: list[bytes], here: int, _there: int) -> None:
    """Bytes are missing from a line, or others are there."""
    line, size, noise = lines[here], draw(st.integers(0, 40)), draw(noises)
    start = draw(numbers) % (len(line) + 1)
    lines[here] = line[:start] + noise + line[start + size :]


MISHAPS: list[Callable[[DrawFn, list[bytes], int, int], None]] = [
    *(drop, repeat, swap, truncate, cut),
]
mishaps = st.lists(st.sampled_from(MISHAPS), max_size=3)


@st.composite
def spoiled(draw: DrawFn, framework: str) -> Spoiled:
    """A recording that has other values in some of its lines, or other lines."""
    kind = draw(a_kind(framework))
    recording = draw(a_recording(framework, kind))
    lines, how = recording.read_bytes().split(b"\n"), []
    first = draw(a_line_of(recording, kind))
    for line in [first, *draw(some_lines(recording))][draw(st.integers(0, 1)) :]:
        path, new = draw(a_place(line.value)), draw(a_value(recording))
        value = changed(line.value, path, new)
        lines[line.number] = line.prefix + json.dumps(value).encode()
        how.append(f"line {line.number + 1} at {'.'.join(map(str, path))}")
    for mishap in draw(mishaps):
        if lines:
            here, there = draw(numbers) % len(lines), draw(numbers) % len(lines)
            mishap(draw, lines, here, there)
            how.append(f"{mishap.__name__} {here + 1} {there + 1}")
    return Spoiled(recording, lines, how)


def examples(framework: str) -> int:
    """How many recordings of a framework to spoil."""
    sizes = [path.stat().st_size for path in RECORDINGS[framework]]
    return max(LEAST_EXAMPLES, min(MOST_EXAMPLES, BYTES * len(sizes) // sum(sizes)))


# What must hold


def record(run: Spoiled, cuts: list[int]) -> list[LogEntry]:
    recorder = Recorder(run.recording.parent.name)
    places = [0, *sorted(cut % (len(run.data) + 1) for cut in cuts), len(run.data)]
    reads = [run.data[a:b] for a, b in pairwise(places)]
    return [entry for read in reads for entry in recorder.read(read)] + recorder.close()


def check_parser(log: list[LogEntry]) -> None:
    """No line broke the parser: that it was kept as RAW hides a bug of ours."""
    raws = [entry.event for entry in log if isinstance(entry.event, Raw)]
    broken = [raw for raw in raws if (raw.source or "").startswith(FAILED)]
    assert not broken, broken[0].source


def check_replay(log: list[LogEntry]) -> None:
    """Feeding a log to another lifecycle gives that log, and nothing is left to close."""
    lifecycle = Lifecycle("other")
    again = [event for entry in log for event in lifecycle.feed(entry.event)]
    assert again + lifecycle.close() == [entry.event for entry in log]


def check_streams(log: list[LogEntry]) -> None:
    """Every client can read the run, live and reloaded."""
    message = build_message(log, "msg_1")
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message
    for profile in PROFILES:
        formatter = get_formatter("ai-sdk", "msg_1", profile)
        documents = format_all(formatter, log)
        documents += [] if isinstance(log[-1].event, Done) else formatter.pause()
        check_ai_sdk(documents, profile)
        json.dumps(ui_message(message, profile), allow_nan=False)
    document = get_formatter("ai-sdk", "msg_1", "document")
    assert format_all(document, log)
    for profile in profiles_of("ag-ui"):
        formatter = get_formatter("ag-ui", "msg_1", profile)
        documents = format_all(formatter, log)
        documents += [] if isinstance(log[-1].event, Done) else formatter.pause()
        check_ag_ui(documents, profile)
        json.dumps(snapshot(message, profile), allow_nan=False)
    for policy in profiles_of("panes"):
        documents = format_all(get_formatter("panes", "msg_1", policy), log)
        check_panes(documents, policy, over=isinstance(log[-1].event, Done))
    canonical = format_all(get_formatter("canonical", "msg_1"), log)
    assert decode_many(b"\n".join(canonical)) == log
    for profile in profiles_of("agent-event"):
        documents = format_all(get_formatter("agent-event", "msg_1", profile), log)
        check_agent_events(documents, profile, waits=not isinstance(log[-1].event, Done))


def check(run: Spoiled, cuts: list[int]) -> None:
    log = record(run, cuts)
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    legal_log([entry.event for entry in log])
    assert decode_many(encode_many(log)) == log
    assert not cuts or log == record(run, [])
    check_parser(log)
    check_replay(log)
    check_streams(log)


@pytest.mark.parametrize("framework", RECORDINGS)
def test_no_recording_that_went_bad_is_fatal(framework: str) -> None:
    @settings(max_examples=examples(framework), print_blob=True)
    @given(run=spoiled(framework), cuts=st.lists(numbers, max_size=6))
    def is_logged_and_read(run: Spoiled, cuts: list[int]) -> None:
        note(f"{run.recording.relative_to(TESTS)}: {', '.join(run.how)}; reads cut at {cuts}")
        try:
            check(run, cuts)
        except BaseException:
            REPORTS.mkdir(parents=True, exist_ok=True)
            (kept := REPORTS / f"{framework}-{run.recording.name}").write_bytes(run.data)
            note(f"scripts/judge-recordings {kept} --from {framework}")
            raise

    is_logged_and_read()


@pytest.mark.parametrize("framework", RECORDINGS)
def test_a_recording_may_break_off_after_any_line(framework: str) -> None:
    for path in RECORDINGS[framework]:
        lines = path.read_bytes().split(b"\n")
        step = max(1, len(lines) // (4 * FUZZ))
        for count in range(0, len(lines) + 1, step):
            check(Spoiled(path, lines[:count], ["truncate"]), [])
