"""The `mobox` command, as a shell runs it."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mobox import __version__
from mobox.cli import main
from mobox.parsers.detection import LOOK_AT
from server.live_server import MOBOX
from support.grammar_ai_sdk import check_ai_sdk
from support.recordings import each_recording

TESTS = Path(__file__).parents[1]
HELLO = TESTS / "recordings/claude/hello.jsonl"
WIRE = TESTS / "recordings/claude/wire_everything.sse"
TO_AI_SDK = ["convert", "--from", "claude", "--to", "ai-sdk"]
PATIENCE = 60.0  # seconds; only a hang takes this long


def mobox(*arguments: str | Path, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*MOBOX, *arguments], input=data, capture_output=True)


@contextmanager
def started(
    *arguments: str | Path, stdout: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that talks to the test, and ends with it."""
    pipe = subprocess.PIPE
    # A machine may unbuffer all of Python's output; that Mobox flushes shows only without.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*MOBOX, *arguments], stdin=pipe, stdout=stdout, stderr=pipe, env=environment
    ) as process:
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


def documents(sse: bytes) -> list[bytes]:
    *frames, nothing = sse.split(b"\n\n")
    assert nothing == b""
    assert [frame for frame in frames if not frame.startswith(b"data: ")] == []
    return [frame.removeprefix(b"data: ") for frame in frames]


def complaint(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command that was asked for wrongly says; it exits with 2 and writes nothing else."""
    try:
        code: int | str | None = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


# Converting


def test_a_file_is_converted() -> None:
    done = mobox(*TO_AI_SDK, HELLO)
    assert (done.returncode, done.stderr) == (0, b"")
    check_ai_sdk(documents(done.stdout))
    assert b"".join(documents(done.stdout)).count(b'"text-delta"') == 4


@pytest.mark.parametrize("name", [[], ["-"]])
def test_standard_input_is_converted_as_a_file_is(name: list[str]) -> None:
    done = mobox(*TO_AI_SDK, *name, data=HELLO.read_bytes())
    assert done.stdout == mobox(*TO_AI_SDK, HELLO).stdout


def test_an_sse_body_is_read_as_well_as_json_lines() -> None:
    done = mobox(*TO_AI_SDK, WIRE)
    assert (done.returncode, done.stderr) == (0, b"")
    check_ai_sdk(documents(done.stdout))


def test_frames_come_while_the_agent_still_writes() -> None:
    first, second, *rest = HELLO.read_bytes().splitlines(keepends=True)
    with started(*TO_AI_SDK) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first)
        process.stdin.flush()
        frames = [process.stdout.readline() + process.stdout.readline() for _ in range(3)]
        assert documents(b"".join(frames))[:2] == [
            b'{"type":"start","messageId":"msg_1"}',
            b'{"type":"start-step"}',
        ]
        process.stdin.write(second + b"".join(rest)[:150])  # ends in the middle of a line
        process.stdin.flush()
        assert process.stdout.readline().startswith(b'data: {"type":"text-start"')
        process.stdin.write(b"".join(rest)[150:])
        rest_of_output, errors = process.communicate()
        assert rest_of_output.endswith(b"data: [DONE]\n\n")
        assert (process.returncode, errors) == (0, b"")


def test_a_run_that_waits_for_an_answer_ends_its_response() -> None:
    lines = b'{"type":"tool_use","data":{"id":"c","name":"rm","input":{}}}\n'
    lines += b'{"type":"input_request","data":{"id":"ask","tool_call_id":"c"}}\n'
    lines += b'{"type":"paused","data":{"request_ids":["ask"]}}\n'
    made = documents(mobox("convert", "--from", "emitted", "--to", "ai-sdk", data=lines).stdout)
    check_ai_sdk(made)
    assert b'"approvalId":"msg_1:ask"' in b"".join(made)


def test_no_input_at_all_is_a_run_that_was_cut_off() -> None:
    made = documents(mobox(*TO_AI_SDK).stdout)
    check_ai_sdk(made)
    assert b'"reason":"truncated"' in made[-2]


def test_the_message_id_is_the_one_given() -> None:
    made = documents(mobox(*TO_AI_SDK, "--message-id", "run 7 ü", HELLO).stdout)
    assert made[0] == '{"type":"start","messageId":"run 7 ü"}'.encode()


def test_the_profile_is_the_one_given() -> None:
    for profile in ("v5", "v6"):
        done = mobox(*TO_AI_SDK, "--profile", profile, HELLO)
        check_ai_sdk(documents(done.stdout), profile)
        assert (b"finishReason" in done.stdout) == (profile == "v6")


def test_broken_input_is_reported_and_carried_on() -> None:
    lines = HELLO.read_bytes().splitlines(keepends=True)
    lines.insert(3, b"Traceback (most recent call last):\n")
    done = mobox(*TO_AI_SDK, data=b"".join(lines))
    assert done.returncode == 0
    assert done.stderr == b"mobox: entry 6: not JSON\n"
    assert done.stdout == mobox(*TO_AI_SDK, HELLO).stdout


def test_wrong_framework_is_an_error_and_loses_nothing() -> None:
    done = mobox("convert", "--from", "gemini", "--to", "canonical", HELLO)
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "mobox: None of the 9 lines could be read as gemini. The first line is an object with the "
        "keys message, type. It looks like Claude's Messages API events: set framework: claude\n"
    )
    assert done.stdout.count(b'"type":"raw"') == len(HELLO.read_bytes().splitlines())
    *_, error, end = documents(done.stdout)
    assert b'"code":"not_understood"' in error
    assert b'"reason":"error"' in end


PART = b'{"index": 0, "part": {"part_kind": "text"}, "event_kind": "part_start"}\n'


@pytest.mark.parametrize("framework", ["auto", "emitted"])
def test_a_format_without_a_parser_is_named(framework: str) -> None:
    done = mobox("convert", "--from", framework, "--to", "ai-sdk", data=PART * 2)
    assert done.returncode == 1
    assert done.stderr.decode().endswith(
        "It looks like pydantic-ai's events; Mobox has no parser for them yet: "
        "docs/add-a-framework.md\n"
    )
    check_ai_sdk(documents(done.stdout))
    assert b'"type":"error"' in done.stdout
    assert b'"finishReason":"error"' in done.stdout


@pytest.mark.parametrize(
    ("protocol", "says"),
    [
        ("ai-sdk", b'"type":"error"'),
        ("ag-ui", b'"type":"RUN_ERROR"'),
        ("agent-event", b'"type":"error"'),
        ("panes", b"None of the 2 lines could be read"),
        ("canonical", b'"code":"not_understood"'),
    ],
)
def test_every_protocol_reports_that_nothing_was_parsed(protocol: str, says: bytes) -> None:
    done = mobox("convert", "--from", "claude", "--to", protocol, data=PART * 2)
    assert done.returncode == 1
    assert says in done.stdout
    assert b"pydantic-ai's events" in done.stdout


@each_recording
def test_framework_of_a_stream_is_detected(
    recording: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    outputs = []
    for framework in (recording.parent.name, "auto"):
        assert main(["convert", "--from", framework, "--to", "canonical", str(recording)]) == 0
        outputs.append(capsysbinary.readouterr())
    assert outputs[0] == outputs[1]


def test_a_stream_that_comes_slowly_is_found_out_before_it_ends() -> None:
    line = b'{"type": "text", "data": {"content": "hi"}}\n'
    with started("convert", "--from", "auto", "--to", "canonical") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line * LOOK_AT)
        process.stdin.flush()
        assert b'"type":"start"' in process.stdout.readline()
        _, errors = process.communicate(line)
        assert (process.returncode, errors) == (0, b"")


def test_nothing_at_all_looks_like_nothing() -> None:
    done = mobox("convert", "--from", "auto", "--to", "canonical")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [b'"start"' in document for document in documents(done.stdout)] == [True, False]


def test_a_reader_who_has_had_enough_ends_the_command_quietly() -> None:
    stream = HELLO.read_bytes() * 500
    with started(*TO_AI_SDK) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(stream[:1000])
        process.stdin.flush()
        assert process.stdout.readline() == b'data: {"type":"start","messageId":"msg_1"}\n'
        process.stdout.close()
        with pytest.raises(BrokenPipeError):
            process.stdin.write(stream[1000:])
            process.stdin.flush()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("arguments", [["convert", "--list"], ["demo", "--speed", "0"]])
def test_stream_without_readers_is_no_error(arguments: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with started(*arguments, stdout=write_end) as process:
        os.close(write_end)
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, b"")


# Asking wrongly


def test_an_unknown_framework_is_refused_and_the_known_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = complaint("convert", "--from", "x", "--to", "ai-sdk", os.devnull, capsys=capsys)
    assert said.startswith("mobox: unknown framework 'x'; known: adk, claude, ")


def test_an_unknown_protocol_is_refused_and_the_known_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = complaint("convert", "--from", "claude", "--to", "x", os.devnull, capsys=capsys)
    assert said.startswith("mobox: unknown protocol 'x'; known: ag-ui, agent-event, ai-sdk")


def test_an_unknown_profile_is_refused_and_the_known_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = complaint(*TO_AI_SDK, "--profile", "v1", os.devnull, capsys=capsys)
    assert said.startswith("mobox: unknown profile 'v1'; known: ")
    assert "v6" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["convert", "--to", "ai-sdk"], "--from and --to are required"),
        (["convert", "--from", "claude"], "--from and --to are required"),
        ([*TO_AI_SDK, "no/such/file"], "cannot read no/such/file: No such file"),
        ([*TO_AI_SDK, "."], "cannot read .: Is a directory"),
        ([*TO_AI_SDK, "--message-id", "\udcff"], "expected UTF-8"),
        (["demo", "--speed", "-1"], "expected a number from 0 upwards, got '-1'"),
        (["demo", "--speed", "nan"], "expected a number from 0 upwards, got 'nan'"),
        (["demo", "--speed", "fast"], "expected a number from 0 upwards, got 'fast'"),
        (["translate"], "invalid choice: 'translate'"),
        ([], "COMMAND"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in complaint(*arguments, capsys=capsys)


def test_a_closed_standard_input_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "there is no standard input" in complaint(*TO_AI_SDK, capsys=capsys)


# The rest


def test_the_list_names_frameworks_and_protocols_with_their_profiles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["convert", "--list"]) == 0
    frameworks, protocols = capsys.readouterr().out.split("protocols:\n")
    assert frameworks.splitlines()[:2] == ["frameworks:", "  adk"]
    assert "  ai-sdk (v6, " in protocols


def test_a_stream_is_converted_in_process_too(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(HELLO.read_bytes())))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(TO_AI_SDK) == 0
    check_ai_sdk(documents(capsysbinary.readouterr().out))


@pytest.fixture
def heard_interrupts() -> Iterator[None]:
    """A process whose parent ignores SIGINT, as one that runs in the background may, ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_interrupts")
def test_interrupted_command_has_its_exit_code() -> None:
    with started(*TO_AI_SDK) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO.read_bytes()[:1000])
        process.stdin.flush()
        process.stdout.readline()  # so it has begun
        process.send_signal(2)
        _, errors = process.communicate()
        assert (process.returncode, errors) == (130, b"")


def test_demo_shows_a_run_three_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--speed", "0"]) == 0
    told = capsys.readouterr().out
    lines = told.splitlines()
    for kind in ("raw  ", "event", "frame"):
        assert len([line for line in lines if line.lstrip().startswith(f"{kind}  ")]) > 20
    assert '"type":"text_delta"' in told
    assert '"type":"text-delta"' in told
    assert "    frame  [DONE]" in lines
    assert "\033" not in told


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"mobox {__version__}\n")
