"""The recorder: whatever the reads, the same log, numbered and timed."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobox import LogEntry, Recorder
from mobox.capture.jsonlines import JsonLines
from mobox.errors import ProtocolError, UnknownFramework
from mobox.events import (
    Done,
    DoneReason,
    Error,
    InputRequest,
    Paused,
    Raw,
    Start,
    StreamEvent,
    Text,
    TextDelta,
    TextEnd,
)
from mobox.parsers import frameworks
from support.recordings import RECORDINGS, each_recording

TESTS = Path(__file__).parents[1]
JUDGE = TESTS.parent / "scripts" / "judge-recordings"
HELLO = TESTS / "recordings" / "claude" / "hello.jsonl"


def text_line(words: str) -> bytes:
    return json.dumps({"type": "text", "data": {"content": words}}).encode() + b"\n"


def read(recording: Path, *reads: bytes) -> list[LogEntry]:
    recorder = Recorder(recording.parent.name)
    return [entry for data in reads for entry in recorder.read(data)] + recorder.close()


def values_of(recording: Path) -> list[Any]:
    lines = JsonLines()
    return lines.feed(recording.read_bytes()) + lines.close()


# The same log


@each_recording
def test_reading_bytes_is_feeding_their_values(recording: Path) -> None:
    recorder = Recorder(recording.parent.name)
    fed = recorder.feed(values_of(recording)) + recorder.close()
    assert read(recording, recording.read_bytes()) == fed


@each_recording
def test_feeding_values_one_by_one_is_feeding_them_at_once(recording: Path) -> None:
    recorder, values = Recorder(recording.parent.name), values_of(recording)
    one_by_one = [entry for value in values for entry in recorder.feed([value])]
    at_once = Recorder(recording.parent.name)
    assert one_by_one + recorder.close() == at_once.feed(values) + at_once.close()


@settings(max_examples=150)
@given(st.sampled_from(RECORDINGS), st.lists(st.integers(min_value=0), max_size=8))
def test_read_boundaries_do_not_matter(recording: Path, cuts: list[int]) -> None:
    data = recording.read_bytes()
    places = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    assert read(recording, *(data[a:b] for a, b in pairwise(places))) == read(recording, data)


@each_recording
def test_lines_may_end_in_crlf(recording: Path) -> None:
    data = recording.read_bytes()
    assert read(recording, data.replace(b"\n", b"\r\n")) == read(recording, data)


def test_a_last_line_needs_no_end() -> None:
    data = HELLO.read_bytes()
    assert read(HELLO, data.rstrip(b"\n")) == read(HELLO, data)


# Numbers and times


@each_recording
def test_the_log_is_numbered_without_a_gap(recording: Path) -> None:
    log = read(recording, *recording.read_bytes().splitlines(keepends=True))
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    assert [entry.id for entry in log] == [entry.seq for entry in log]


def test_an_entry_has_the_time_of_its_read() -> None:
    recorder = Recorder("emitted")
    first = recorder.read(text_line("a"), ts=1000)
    second = recorder.feed([{"type": "text", "data": {"content": "b"}}], ts=2000)
    last = recorder.close(ts=3000)
    assert [entry.ts for entry in first] == [1000] * 3
    assert [entry.ts for entry in second] == [2000]
    assert [(entry.ts, type(entry.event)) for entry in last] == [(3000, TextEnd), (3000, Done)]


def test_a_recording_has_no_times() -> None:
    assert {entry.ts for entry in read(HELLO, HELLO.read_bytes())} == {None}


def test_a_line_that_comes_in_pieces_has_the_time_of_the_last() -> None:
    recorder, line = Recorder("emitted"), text_line("Hello")
    assert recorder.read(line[:5], ts=1000) == []
    assert [entry.ts for entry in recorder.read(line[5:], ts=2000)] == [2000] * 3


def test_an_empty_read_is_nothing() -> None:
    recorder = Recorder("emitted")
    assert recorder.read(b"") == []
    assert recorder.feed([]) == []


# The end


def test_a_run_without_a_word_still_begins_and_ends() -> None:
    assert [entry.event for entry in Recorder("claude").close()] == [
        Start(framework="claude"),
        Done(reason="truncated"),
    ]


def test_unterminated_line_is_read_at_the_end() -> None:
    recorder = Recorder("emitted")
    assert recorder.read(text_line("Hello")[:-1]) == []
    assert [entry.event for entry in recorder.close()] == [
        Start(framework="emitted"),
        Text(id="text_1"),
        TextDelta(id="text_1", delta="Hello"),
        TextEnd(id="text_1", interrupted=True),
        Done(reason="truncated"),
    ]


def test_agents_own_end_is_used_unless_overridden() -> None:
    lines = b'{"type": "done", "data": {}}\n'
    recorder = Recorder("emitted")
    assert recorder.read(lines) == []
    assert recorder.close()[-1].event == Done(reason="stop")


def test_closing_the_run_may_override_the_agent() -> None:
    recorder = Recorder("emitted")
    recorder.read(text_line("Hello") + b'{"type": "done", "data": {}}\n')
    entries = recorder.close(Done(reason="cancelled"), ts=7)
    assert [entry.event for entry in entries] == [
        TextEnd(id="text_1", interrupted=True),
        Done(reason="cancelled"),
    ]
    assert [entry.ts for entry in entries] == [7, 7]


WAITS = [{"type": kind, "data": data} for kind, data in [
    ("input_request", {"id": "r", "kind": "question"}),
    ("paused", {"request_ids": ["r"]}),
]]  # fmt: skip


def test_waiting_run_stays_waiting_unless_it_is_ended() -> None:
    recorder = Recorder("emitted")
    log = [entry.event for entry in recorder.feed(WAITS)]
    assert log[1:] == [InputRequest(id="r", kind="question"), Paused(request_ids=("r",))]
    assert recorder.close() == []
    assert [entry.event for entry in recorder.close(Done(reason="cancelled"))] == [
        Done(reason="cancelled")
    ]


def test_a_run_ends_once() -> None:
    recorder = Recorder("emitted")
    recorder.close()
    assert recorder.close(Done(reason="lost")) == []
    with pytest.raises(ProtocolError, match="after DONE"):
        recorder.read(text_line("late"))


# What comes in


def test_an_event_that_is_one_already_passes() -> None:
    recorder = Recorder("claude")
    [_, entry] = recorder.feed([Text(id="x", content="Hi")])
    assert entry.event == Text(id="x", content="Hi")


def test_invalid_json_is_raw_in_its_place() -> None:
    log = read(HELLO, b"warming up\n", HELLO.read_bytes())
    assert log[1].event == Raw(raw="warming up", source="not JSON")
    assert [entry.event for entry in log[2:]] == [
        entry.event for entry in read(HELLO, HELLO.read_bytes())[1:]
    ]


def test_an_unknown_framework_is_refused_and_the_known_are_listed() -> None:
    with pytest.raises(UnknownFramework, match=", ".join(frameworks())):
        Recorder("dream")


# The judge


def judged(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(JUDGE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_judge_finds_nothing_wrong_with_our_recordings() -> None:
    folder = TESTS / "recordings" / "claude"
    done = judged(folder, "--from", "claude", "--without", "wire_*")
    assert (done.returncode, done.stderr) == (0, "")
    count = len([path for path in folder.iterdir() if not path.stem.startswith("wire_")])
    assert done.stdout.endswith(f"\n{count} recordings, 0 violations\n")
    assert "max_turns   RAW: 1 control_response\n" in done.stdout


WRONG: list[tuple[list[dict[str, Any]], str]] = [
    (
        [
            *(
                {"type": "tool_use", "data": {"id": "t", "name": "ls"}},
                {"type": "done", "data": {}},
            ),
        ],
        "no result for t",
    ),
    (
        [
            {"type": "text", "data": {"content": "Hi"}},
            {"type": "result", "data": {"text": "Bye"}},
            {"type": "done", "data": {}},
        ],
        "the result is 'Bye', the message 'Hi'",
    ),
]


@pytest.mark.parametrize(("lines", "violation"), WRONG)
def test_judge_reports_violations(
    tmp_path: Path, lines: list[dict[str, Any]], violation: str
) -> None:
    (tmp_path / "run.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = judged(tmp_path, "--from", "emitted")
    assert done.returncode == 1
    assert f"! {violation}\n1 recordings, 1 violations\n" in done.stdout


def test_unreadable_recording_is_a_violation(tmp_path: Path) -> None:
    done = judged(tmp_path / "missing.jsonl", "--from", "claude")
    assert done.returncode == 1
    assert "raises FileNotFoundError" in done.stdout


# What nobody understood


def ended(framework: str, data: bytes, done: Done | None = None) -> list[StreamEvent]:
    recorder = Recorder(framework)
    return [entry.event for entry in recorder.read(data) + recorder.close(done)]


def test_a_run_of_which_nothing_was_understood_ends_with_an_error() -> None:
    start, raw, error, done = ended("claude", b'{"a": 1}\n')
    assert (start, raw) == (Start(framework="claude"), Raw(raw={"a": 1}))
    assert isinstance(error, Error)
    assert (error.code, done) == ("not_understood", Done(reason="error"))


@pytest.mark.parametrize("framework", frameworks())
def test_every_parser_keeps_to_that(framework: str) -> None:
    lines = [b'{"a": 1}', b"text", b"7", b"[]", b'{"type": 7}', b'{"type": "done", "data": {}}']
    *_, error, done = ended(framework, b"\n".join(lines))
    assert isinstance(error, Error)
    assert (error.code, done) == ("not_understood", Done(reason="error"))
    assert f"None of the 5 lines could be read as {framework}." in error.message


def test_values_are_lines_too() -> None:
    recorder = Recorder("claude")
    recorder.feed([{"a": 1}])
    assert recorder.close()[-1].event == Done(reason="error")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b'{"a": 1}\n' + text_line("hi"), "truncated"),
        (text_line("hi") + b"noise\n", "truncated"),
        (b'{"a": 1}\n' + text_line("hi") + b'{"type": "done", "data": {}}\n', "stop"),
    ],
)
def test_partly_parsed_run_keeps_its_end(data: bytes, reason: DoneReason) -> None:
    *log, done = ended("claude", data)
    assert done == Done(reason=reason)
    assert [event for event in log if isinstance(event, Error)] == []


def test_given_end_overrides_unread_lines() -> None:
    cancelled = Done(reason="cancelled")
    assert ended("claude", b'{"a": 1}\n', cancelled)[1:] == [Raw(raw={"a": 1}), cancelled]
