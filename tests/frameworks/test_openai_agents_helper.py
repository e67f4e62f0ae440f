"""The helper for OpenAI's Agents SDK, as a function agent of an app with the real package.

run_openai_agents_app.py has the cases; the matrix has those that need processes.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.live_server import clean_environment

SCRIPT = Path(__file__).parent / "run_openai_agents_app.py"
OFFLINE = {
    "NO_PROXY": "127.0.0.1",
    "OPENAI_API_KEY": "none",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
DENIED = "Tool execution was not approved. It is the only copy."
INTERRUPTED = "interrupted: this call has no result; it is not known whether it took effect"


@pytest.fixture(scope="module")
def found(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of each case."""
    done = subprocess.run(
        [str(frameworks), "-W", "ignore", str(SCRIPT)],
        cwd=tmp_path_factory.mktemp("app"),
        env=clean_environment(**OFFLINE, PYTHONPATH=str(SCRIPT.parents[1])),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cases: dict[str, Any] = json.loads(done.stdout)
    return cases


def test_a_pause_outlives_the_process_and_usage_is_counted_once(found: dict[str, Any]) -> None:
    modes, effects, last, usage, turns, left = found["approved_later"]
    assert modes == [0o600], "the state is stored, for its owner only"
    assert effects == ["deleted a.txt"]
    assert last == ["result", "deleted a.txt"]
    assert usage == [
        [None, 100, None],
        ["run", 100, None],
        [None, 100, "2"],
        ["run", 100, "2"],
    ]
    assert turns == [[1], [1]]
    assert left == [], "the state is deleted with the end"


def test_a_denied_call_has_the_reason_and_the_status(found: dict[str, Any]) -> None:
    assert found["denied"] == [[], [["denied", DENIED]], ["result", DENIED]]


def test_answers_without_the_state_are_an_error(found: dict[str, Any]) -> None:
    assert found["lost_state"] == [[], [["crashed"]]]


def test_a_stopped_call_is_interrupted_in_the_next_turn(found: dict[str, Any]) -> None:
    assert found["stopped"] == [
        ["user", "[[hold stopped]] Go."],
        ["call", "hold {}"],
        ["result", INTERRUPTED],
        ["user", "What happened?"],
    ]


def test_a_session_goes_on_goes_back_and_is_usable_after_a_stop(found: dict[str, Any]) -> None:
    second, regenerated, stopped, retried = found["session"]
    assert second == [["user", "[[talk session]] Go."], ["text", "One."], ["user", "And then?"]]
    assert regenerated == second
    assert retried == [["user", "[[paint again]] Go."]]
    assert stopped == [
        ["user", "[[hold halted]] Go."],
        ["call", "hold {}"],
        ["result", INTERRUPTED],
        ["user", "What happened?"],
    ]


def test_a_dict_as_context_is_kept_and_another_is_made_again(found: dict[str, Any]) -> None:
    assert found["context"] == [["dict 1", "dict 2"], ["Counter 1", "Counter 1"]]


def test_the_page_runs_its_tools(found: dict[str, Any]) -> None:
    ran, result, failed, failure = found["page_tools"]
    assert ran == failed == [["tool", "call_1"]]
    assert result == [["result", '{"filled": true}'], [[None]]]
    message = "An error occurred while running the tool. No such form."
    assert failure == [["result", message], [["error"]]]


def test_an_image_of_a_tool_is_in_the_history(found: dict[str, Any]) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    assert {**image, "detail": "auto"} in found["images"]


def test_structured_output_is_the_text_once(found: dict[str, Any]) -> None:
    assert found["structured"] == ['{"name": "Lisbon"}', [[None]], [["stop"]]]


def test_the_limit_of_turns_is_the_reason_of_the_end(found: dict[str, Any]) -> None:
    assert found["too_many_turns"] == [[["MaxTurnsExceeded"]], [["max_turns"]]]


def test_a_call_of_an_inner_agent_is_approved_in_its_scope(found: dict[str, Any]) -> None:
    assert found["inner_approval"] == [
        [["call_i", ["call_o"]]],
        ["deleted a.txt"],
        [["call_i", ["call_o"], "deleted a.txt"], ["call_o", None, "It is clean."]],
        [["call_o", "cleaner"]],
        ["result", "It is clean."],
        [["stop"]],
    ]


def test_an_agent_that_was_handed_the_run_pauses_it(found: dict[str, Any]) -> None:
    assert found["handed_off"] == [
        [["transfer_to_writer", "handoff"], ["delete_file", None]],
        ["deleted b"],
        ["user", "call", "result", "call", "result"],
    ]


def test_functions_make_agents_and_nothing_else(found: dict[str, Any]) -> None:
    assert found["made_by_functions"] == [
        [[["stop"]], [["stop"]], [["error"]], [["error"]]],
        ["closed"],
    ]
