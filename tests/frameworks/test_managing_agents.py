"""Real agents that have another one at work, which is heard live and nested in its place."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from mobox import Recorder, StreamEvent
from mobox.events import Raw, SubagentStart, Thinking, TodoCreate, ToolUseStart
from support.grammar_log import legal_log
from support.run_trees import tree_of

HERE = Path(__file__).parent
MANAGED = HERE.parent / "recordings" / "smolagents" / "managed.jsonl"


@cache
def run(python: Path, script: str, *arguments: str) -> bytes:
    command = [str(python), "-W", "ignore", str(HERE / script), *arguments]
    environment = {**os.environ, "MOBOX_EMIT": "1"}  # some print to the terminal meanwhile
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def recorded(framework: str, lines: bytes) -> list[StreamEvent]:
    recorder = Recorder(framework)
    events = [entry.event for entry in recorder.read(lines) + recorder.close()]
    legal_log(events)
    assert [event for event in events if isinstance(event, Raw)] == []
    return events


@pytest.mark.parametrize(
    ("arguments", "spawning"),
    [(["code"], "call_1"), (["code", "plan"], "call_2"), (["tools"], "toolu_1")],
)
def test_a_smolagents_manager_and_whom_it_manages(
    frameworks: Path, arguments: list[str], spawning: str
) -> None:
    events = recorded("smolagents", run(frameworks, "run_smolagents.py", *arguments))
    tree = tree_of(events)
    assert tree.text() == "21C in Lisbon"
    assert tree.text((spawning,)) == "21C"
    assert tree.agents[spawning][1::2] == ("researcher", "ok")
    assert tree.calls[f"{spawning}/toolu_s1"]["output"] == "21C in Lisbon"
    assert tree.end == "stop"
    plans = [event.source for event in events if isinstance(event, Thinking)].count("plan")
    assert plans == len([event for event in events if isinstance(event, TodoCreate)])
    assert plans == len(arguments) - 1


def test_managed_agent_emits_while_its_call_is_open(frameworks: Path) -> None:
    lines = run(frameworks, "run_smolagents.py", "tools")
    kinds = [(type(event), event.scope) for event in recorded("smolagents", lines)]
    begins = kinds.index((SubagentStart, ()))
    assert kinds.index((ToolUseStart, ())) < begins < kinds.index((ToolUseStart, ("toolu_1",)))
    results = [event.id for event in recorded("smolagents", lines) if event.type == "tool_result"]
    assert results.index("toolu_1/toolu_s1") < results.index("toolu_1")


def test_a_smolagents_run_comes_out_as_it_was_recorded(frameworks: Path) -> None:
    ran = recorded("smolagents", run(frameworks, "run_smolagents.py", "code"))
    assert tree_of(ran) == tree_of(recorded("smolagents", MANAGED.read_bytes()))


@pytest.mark.parametrize("mode", ["sse", "none"])
def test_an_adk_runner_whose_agent_spawns_another(frameworks: Path, mode: str) -> None:
    tree = tree_of(recorded("adk", run(frameworks, "run_adk.py", mode)))
    assert tree.text() == "It is 21C in Lisbon."
    assert tree.text(("fc-S",)) == "21C."
    assert tree.agents == {"fc-S": ((), "researcher", "The weather?", "ok")}
    assert tree.calls["fc-W"]["output"] == {"city": "Lisbon", "weather": "21C"}
    assert tree.calls["fc-S"]["output"] == {"result": "21C."}
    assert tree.usage == 4 * 120
    assert tree.end == "stop"
