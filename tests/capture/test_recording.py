"""Recordings of commands, and of functions in this process."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from mobox.capture.recording import find_callable, record_callable, record_command
from mobox.cli import main
from mobox.errors import NotRecordable


@dataclass
class Step:
    number: int


def steps() -> Iterator[Step]:
    yield Step(1)
    print("not in the recording")
    yield Step(2)


async def steps_in_time() -> AsyncIterator[Step]:
    yield Step(1)
    yield Step(2)


async def steps_at_last() -> list[Step]:
    return [Step(1), Step(2)]


async def a_stream_at_last() -> AsyncIterator[Step]:
    return steps_in_time()


def recorded(function: Any) -> tuple[int, list[Any]]:
    sink = BytesIO()
    code = record_callable(function, sink)
    return code, [json.loads(line) for line in sink.getvalue().splitlines()]


@pytest.mark.parametrize(
    "function", [steps, steps_in_time, steps_at_last, a_stream_at_last, lambda: [Step(1), Step(2)]]
)
def test_the_objects_of_a_function_are_lines(function: Any) -> None:
    lines = [{"_class": "Step", "number": 1}, {"_class": "Step", "number": 2}]
    assert recorded(function) == (0, lines)


def test_one_object_is_a_line_and_none_is_none() -> None:
    assert recorded(lambda: Step(1)) == (0, [{"_class": "Step", "number": 1}])
    assert recorded(lambda: None) == (0, [])


def test_exception_of_a_function_is_its_last_line() -> None:
    def fails() -> Iterator[Step]:
        yield Step(1)
        raise ValueError("kaput")

    code, lines = recorded(fails)
    assert code == 1
    assert lines[1:] == [{"_exception": "ValueError", "str": "kaput"}]


def test_command_output_is_kept_unchanged(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    command = [sys.executable, "-c", r"print('{\"a\": 1}'); print('no JSON'); raise SystemExit(3)"]
    assert main(["record", "-o", str(output), "--", *command]) == 3
    assert output.read_bytes().split() == [b'{"a":', b"1}", b"no", b"JSON"]


def test_the_exit_code_of_a_command_that_a_signal_ends() -> None:
    command = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"]
    assert record_command(command, BytesIO()) == 128 + 15


def test_a_function_is_found_in_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "recorded_agent.py").write_text("class A:\n    def run(): return [{'a': 1}]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["record", "recorded_agent:A.run"]) == 0
    assert capfdbinary.readouterr().out == b'{"a":1}\n'


@pytest.mark.parametrize(
    "name", ["steps", ":x", "x:", "no_such_module:x", "json:nothing", "sys:path"]
)
def test_a_name_that_names_no_function(name: str) -> None:
    with pytest.raises(NotRecordable, match=name.split(":")[-1] or "expected"):
        find_callable(name)


def test_a_command_that_cannot_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--", "/no/such/agent"]) == 2
    assert "cannot run /no/such/agent" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["--"], ["a:b", "c"], ["-o", "/no/such/folder/x", "json:dumps"]]
)
def test_wrong_usage_prints_an_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["record", *arguments])
    assert "mobox record" in capsys.readouterr().err
