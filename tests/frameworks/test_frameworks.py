"""Real agents of the real frameworks, with a scripted model, come out as they were recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mobox import Recorder, StreamEvent, get_parser
from mobox.events import Paused, Raw, Result, Text, decode_many
from mobox.lifecycle import Lifecycle
from support.grammar_log import legal_log
from support.run_trees import Tree, tree_of

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RECORDINGS = HERE.parent / "recordings"

RECORDED = {
    "deep": "deepagents/protocol",
    "tools": "langchain/protocol_tools",
    "fail": "langchain/parts_fail",
    "hitl": "langchain/protocol_hitl",
}
"""The recordings of the same runs, whose provider was scripted alike."""
STREAMS = ("callbacks", "protocol", "parts", "objects")

each_stream = pytest.mark.parametrize("stream", STREAMS)
each_run = pytest.mark.parametrize("run", RECORDED)


@pytest.fixture(scope="session")
def ran(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what all agents said."""
    folder = tmp_path_factory.mktemp("frameworks")
    run(frameworks, str(folder))
    return folder


def run(python: Path, *arguments: str) -> bytes:
    command = [str(python), "-W", "ignore", str(HERE / "run_frameworks.py"), *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def recorded(lines: bytes) -> list[StreamEvent]:
    recorder = Recorder("deepagents")
    return [entry.event for entry in recorder.read(lines) + recorder.close()]


def tree_of_recording(name: str) -> Tree:
    return tree_of(recorded((RECORDINGS / f"{RECORDED[name]}.jsonl").read_bytes()))


@each_stream
@each_run
def test_a_real_run_comes_out_as_it_was_recorded(ran: Path, run: str, stream: str) -> None:
    log = recorded((ran / f"{run}_{stream}_1.jsonl").read_bytes())
    legal_log(log)
    assert tree_of(log) == tree_of_recording(run)
    assert [event for event in log if isinstance(event, Raw)] == []


@each_stream
@each_run
def test_objects_in_process_come_out_as_their_lines_do(ran: Path, run: str, stream: str) -> None:
    in_process = decode_many((ran / f"{run}_{stream}.log").read_bytes())
    lines = recorded((ran / f"{run}_{stream}_1.jsonl").read_bytes())
    assert [entry.event for entry in in_process] == lines


@each_stream
def test_real_run_contains_its_own_answer(ran: Path, stream: str) -> None:
    log = recorded((ran / f"deep_{stream}_1.jsonl").read_bytes())
    [result] = [event for event in log if isinstance(event, Result)]
    assert result.text == "# Research Report\n\nA and B agree."


@each_stream
@pytest.mark.parametrize(
    ("run", "output"),
    [
        ("hitl", "sent"),
        ("edit", "sent"),
        ("respond", "I sent it."),
        ("reject", "User rejected the tool call for `send_email` with reason: Not now."),
    ],
)
def test_decided_call_continues_in_the_next_attempt(
    ran: Path, stream: str, run: str, output: str
) -> None:
    lifecycle, log = Lifecycle("langchain"), []
    for leg, prefix in ((1, ""), (2, "2.")):
        parser = get_parser("langchain", prefix)
        lines = (ran / f"{run}_{stream}_{leg}.jsonl").read_bytes().splitlines()
        log += lifecycle.feed_all([e for line in lines for e in parser.feed_line(line)])
        log += lifecycle.feed_all(parser.close())
        assert lifecycle.waiting == (leg == 1)
    log += lifecycle.close()
    legal_log(log)
    tree = tree_of(log)
    assert len([event for event in log if isinstance(event, Paused)]) == 1
    assert tree.text() == "Needs approval.Sent."
    assert list(tree.calls) == ["toolu_h1"]
    # In some streams LangChain puts a note for the model before the result of an edited call.
    note, _, result = str(tree.calls["toolu_h1"]["output"]).rpartition("Tool response:\n")
    assert result == output
    assert run == "edit" or note == ""
    assert tree.end == "stop"


def listed(value: Any) -> Iterator[str]:
    """The names of the messages in the states within a value."""
    if isinstance(value, list):
        for each in value:
            yield from listed(each)
    elif isinstance(value, dict):
        messages = value.get("messages")
        for each in messages if isinstance(messages, list) else []:
            if isinstance(each, dict) and "id" in each:
                yield each["id"]
        for each in value.values():
            yield from listed(each)


@each_stream
def test_state_emits_only_its_new_messages(ran: Path, stream: str) -> None:
    lines = (ran / f"deep_{stream}_1.jsonl").read_bytes().splitlines()
    names = [name for line in lines for name in listed(json.loads(line))]
    assert len(names) > 10
    assert len(names) == len(set(names))


def test_an_agent_prints_the_same_lines_with_emit_object(frameworks: Path, ran: Path) -> None:
    printed = run(frameworks, "deep", "protocol")
    kept = (ran / "deep_protocol_1.jsonl").read_bytes()
    assert tree_of(recorded(printed)) == tree_of(recorded(kept))
    assert printed.isascii()


def test_mobox_itself_needs_none_of_the_frameworks() -> None:
    code = (
        "import sys, mobox.parsers.langchain, mobox.capture.callable;"
        "print([m for m in sys.modules if m.startswith(('langchain', 'langgraph', 'pydantic'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def test_recordings_have_content() -> None:
    for name in RECORDED:
        assert tree_of_recording(name).calls
    assert Text in map(type, recorded((RECORDINGS / "deepagents/protocol.jsonl").read_bytes()))
