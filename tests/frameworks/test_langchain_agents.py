"""`shared.frameworks.langchain` with the real packages: memory, answers, and the page's tools.

What needs a server and processes is in the matrix.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.adapters.langchain import LANGGRAPH
from frameworks.matrix import Case
from frameworks.scripted_anthropic import say, scripted_anthropic
from frameworks.stage import wait_until
from mobox import Recorder
from mobox.events import TextDelta
from server.live_server import clean_environment

HERE = Path(__file__).parent
AGENT_PATH = HERE.parents[1] / "src" / "mobox" / "agent_path"


@pytest.fixture(scope="module")
def cases(frameworks: Path) -> dict[str, Any]:
    """What each case of run_langchain.py returned."""
    command = [str(frameworks), "-W", "ignore", str(HERE / "run_langchain.py")]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


EXPECTED: dict[str, Any] = {
    "lost_memory_is_replaced_by_the_history": [
        ["user", "[[talk]] Go.", ""],
        ["image", "AAAA", ""],
        ["call", 'note {"x": 1}', "t1"],
        ["result", "noted", "t1"],
        ["text", "One.", ""],
        ["user", "And?", ""],
    ],
    "run_without_a_checkpoint_is_in_the_history": [
        ["[[talk]] Go.", "One.", "And?", "Tw", "Well?"],
        ["run1"],
    ],
    "tool_asks_by_the_emitter": ["Sent.", ["a@b.c", "a@b.c"]],
    "node_asks_twice": ["Which city?", "Lisbon, really?", True, "Lisbon True"],
    "tools_of_the_page_pause_the_run": [
        ["note", "show"],
        [["tool", "c1"], ["tool", "c2"]],
        {"c1": '{"shown": true}', "c2": "no such list", "c3": "noted"},
    ],
    "without_tools_of_a_page_nothing_changes": "One.",
    "events_of_the_application_are_kept": [{"sending": "a@b.c"}],
    "a_saver_in_memory_is_replaced": ["[[talk]] Go.", "One.", "And?"],
    "own_checkpointer_is_used": [["[[talk]] Go.", "One.", "And?"], ["run1"], []],
    "runnable_without_a_graph_gets_the_conversation": [["[[talk]] Go.", "One.", "And?"], "Two."],
    "graph_may_come_from_a_context": ["One.", ["open", "closed"]],
    "own_input_config_and_context": [
        {"topic": "Ships", "answer": "Ships for chat"},
        "the graph's state has no `messages`: give `input=`, a function of turn",
    ],
    "answers_to_a_lost_state_are_refused": (
        "the graph's state of this run is lost, so that its answers cannot be used; send it again"
    ),
    "message_instead_of_an_answer": [
        ["user", "[[send]] Go.", ""],
        ["call", 'send {"to": "a@b.c"}', "c1"],
        [
            "result",
            "Not carried out: the user sent another message instead of a decision about this call.",
            "c1",
        ],
        ["user", "Never mind.", ""],
    ],
    "interrupts_with_the_same_id": [
        ["i", "i.2", "i.3"],
        {},
        {"i": "Lisbon"},
        {"i": False},
    ],
    "interrupts_are_stored_before_a_person_sees_them": ["__interrupt__"],
    "result_that_was_not_stored_is_in_the_history": [
        ["result", "sent", "c1"],
        ["user", "Well?", ""],
    ],
    "stopping_cancels_the_graph": ["started", "cancelled"] * 2,
    "old_interrupts": {
        "i": [
            {"type": "accept", "args": None},
            {"type": "edit", "args": {"action": "send", "args": 1}},
            {"type": "response", "args": 2},
            {"type": "ignore", "args": None},
        ]
    },
    "saver_behaves_as_the_one_in_memory": [True, [["a", "1"], ["a", "1", "c", "3"]]],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_langchain_agent(cases: dict[str, Any], name: str) -> None:
    assert cases[name] == EXPECTED[name]


def test_a_call_is_edited_or_answered_instead_of_approved(cases: dict[str, Any]) -> None:
    edited, answered = cases["a_call_is_edited_or_answered_instead"]
    assert edited.endswith("sent to d@e.f")
    assert answered == "I did it."


def test_unsupported_versions_are_named(cases: dict[str, Any]) -> None:
    old, missing = cases["unsupported_versions_are_named"]
    assert old.endswith("is not supported; langgraph>=99,<100 is needed")
    assert missing == "no-such-sdk is not installed; no-such-sdk>=1,<2 is needed"


def test_files_of_the_agent_do_not_replace_the_sdk(frameworks: Path, tmp_path: Path) -> None:
    for name in ("langchain", "langgraph", "langchain_core", "control", "loading"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not me')")
    script = tmp_path / "run_agent.py"
    script.write_text(
        "from shared.emitter import Turn\n"
        "from shared.frameworks.langchain import messages, run\n"
        "print([type(m).__name__ for m in messages(Turn({'prompt': 'Hi'}))])\n"
    )
    env = {**os.environ, "PYTHONPATH": str(AGENT_PATH)}
    command = [str(frameworks), str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['HumanMessage']\n", "")


def test_agent_runs_by_hand(frameworks: Path, tmp_path: Path) -> None:
    script = tmp_path / "run_agent.py"
    script.write_text(
        "from langchain.agents import create_agent\n"
        "from shared.frameworks.langchain import run\n"
        "def look_up(city: str) -> str:\n"
        "    'Look up.'\n"
        "    return 'warm'\n"
        "run(create_agent('anthropic:claude-scripted', tools=[look_up]))\n"
    )
    with scripted_anthropic({"talk": [[say("One.")]]}) as endpoint:
        about = {"ANTHROPIC_BASE_URL": endpoint.url, "ANTHROPIC_API_KEY": "none"}
        env = clean_environment(**about, NO_PROXY="127.0.0.1")
        command = [str(frameworks), str(script), "[[talk]]", "Go."]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    recorder = Recorder("langchain")
    events = [entry.event for entry in recorder.read(done.stdout.encode()) + recorder.close()]
    assert [event.delta for event in events if isinstance(event, TextDelta)] == ["One."]


def test_a_graph_that_is_not_compiled_is_named(frameworks: Path, tmp_path: Path) -> None:
    script = tmp_path / "run_agent.py"
    script.write_text(
        "from langgraph.graph import MessagesState, StateGraph\n"
        "from shared.frameworks.langchain import run\n"
        "run(StateGraph(MessagesState))\n"
    )
    command = [str(frameworks), str(script), "Go."]
    done = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.endswith(
        "a graph is needed, or another runnable; not StateGraph: call its `compile()`"
    )


@pytest.fixture
def case(frameworks: Path, tmp_path: Path) -> Iterator[Case]:
    with LANGGRAPH.provider(LANGGRAPH.scripts()) as provider:
        stage = LANGGRAPH.stage(tmp_path, frameworks, provider)
        yield Case(LANGGRAPH, stage, stage.chat("lost"), provider)
        stage.close()


def test_call_that_was_under_way_when_its_process_died_is_unknown(case: Case) -> None:
    case.chat.begin(case.ask("hold"))
    wait_until(lambda: case.chat.effects)
    case.stage.restart()
    case.chat.until("over")
    case.chat.send("What happened?")
    [result] = [item for item in case.last() if item.kind == "result"]
    assert "It is not known whether it took effect" in result.text
    assert case.chat.effects == ["held door"]
