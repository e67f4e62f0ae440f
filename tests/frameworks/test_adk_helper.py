"""The helper for Google's ADK, as a function agent of an app with the real package.

run_adk_app.py has the cases; the matrix has those that need processes.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.live_server import clean_environment

SCRIPT = Path(__file__).parent / "run_adk_app.py"
OFFLINE = {"NO_PROXY": "127.0.0.1", "GEMINI_API_KEY": "none"}
DENIED = "This tool call is rejected. The only copy."
UNKNOWN = (
    "Interrupted: this call was under way when the agent was stopped. "
    "It is not known whether it took effect, and it was not repeated."
)
NOT_MADE = "Not carried out: the user sent another message instead of a decision about this call."
IN_LOG = "interrupted: this call has no result; it is not known whether it took effect"


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


# People


def test_a_pause_outlives_the_process_and_usage_is_counted_once(found: dict[str, Any]) -> None:
    request, effects, last, usage, stored = found["approved_later"]
    assert request == [[None, "call_1", None]], "an approval, without ADK's words for programs"
    assert effects == ["deleted a.txt"]
    assert last == ["result", "deleted a.txt"]
    assert usage == [[100, None], [100, "2"]]
    assert "sessions.sqlite" in stored


def test_a_denied_call_has_the_reason_and_the_status(found: dict[str, Any]) -> None:
    assert found["denied"] == [[], [["denied"]], ["result", DENIED]]


def test_tool_that_asks_for_a_value_gets_it_or_its_own_proposal(found: dict[str, Any]) -> None:
    request = [["How many days?", {"days": 9}]]
    assert found["payload"] == [[request, request], ["booked 3", "booked 9"]]


def test_message_instead_of_a_decision_tells_that_the_call_was_not_made(
    found: dict[str, Any],
) -> None:
    effects, told = found["went_on"]
    assert effects == []
    assert told[2:] == [["result", NOT_MADE], ["user", "Never mind."]]


def test_one_pause_waits_for_the_page_and_for_a_person(found: dict[str, Any]) -> None:
    effects, results, told = found["page_and_person"]
    assert effects == ["deleted a"]
    assert results == [["call_1", {"result": "ok"}], ["call_2", {"result": "deleted a"}]]
    assert sorted(told[2:]) == [["result", "deleted a"], ["result", "ok"]]


def test_the_page_runs_its_tools_before_the_model_continues(found: dict[str, Any]) -> None:
    given, text, failed = found["page_tools"]
    count = ["call_2", {"result": "1"}, None]
    end = [["stop"]]
    request = [["tool", "call_1"]]
    assert given[:3] == [request, 1, [count, ["call_1", {"filled": True}, None]]]
    assert text[2:] == [
        [count, ["call_1", {"result": "filled"}, None]],
        [["result", "1"], ["result", "filled"]],
        end,
    ]
    assert failed[2:] == [
        [count, ["call_1", {"error": "No such form."}, "error"]],
        [["result", "1"], ["result", "No such form."]],
        end,
    ]


def test_a_long_running_tool_is_started_once_and_gets_its_result_later(
    found: dict[str, Any],
) -> None:
    effects, results, told, _ = found["long_running"]
    assert effects == ["ordered tea"]
    assert results == [[{"result": "ticket 7"}, True], [{"result": "tea"}, None]]
    assert told[-1] == ["result", "tea"]


# Memory


def test_a_lost_session_refuses_answers_and_is_filled_from_the_log(found: dict[str, Any]) -> None:
    effects, errors, told = found["lost_session"]
    assert (effects, errors) == ([], [["crashed"]])
    assert told[2:] == [["result", IN_LOG], ["user", "And now?"]]


def test_a_call_that_was_stopped_is_reported_and_not_made_again(found: dict[str, Any]) -> None:
    effects, told = found["stopped"]
    assert effects == ["held"]
    assert told[1:] == [["call", "hold {}"], ["result", UNKNOWN], ["user", "What happened?"]]


def test_state_continues_and_goes_back_with_the_messages(found: dict[str, Any]) -> None:
    last, is_same, instruction = found["state"]
    assert last == ["result", "2"]
    assert is_same, "the second answer is given the same, also its count"
    assert instruction[0]["text"].startswith("Hello\n")


def test_messages_of_another_agent_are_added_from_the_log(found: dict[str, Any]) -> None:
    told, is_same = found["other_agent"]
    assert told == [
        ["user", "[[talk others]] Go."],
        ["text", "One."],
        ["user", "And the sky?"],
        ["call", 'look {"at": "sky"}'],
        ["result", "blue"],
        ["text", "It is blue."],
        ["user", "Sure?"],
    ]
    assert is_same


def test_an_app_and_a_session_service_of_the_author(found: dict[str, Any]) -> None:
    told, seen, sessions = found["own_services"]
    assert told == [["user", "[[talk own]] Go."], ["text", "One."], ["user", "And then?"]]
    assert seen == ["asked"] * 3
    assert sessions == ["own"]


def test_artifacts_are_kept_in_the_state_folder(found: dict[str, Any]) -> None:
    assert found["artifacts"] == [[["words.txt"]], ["words"]]


# Other agents


def test_a_subagent_pauses_twice_in_processes_of_their_own(found: dict[str, Any]) -> None:
    for mode in ("task", "single_turn"):
        request, effects, results, ends, done, raw, _ = found["subagents"][mode]
        assert request == [["call_1", ["call_o"]]]
        assert effects == ["deleted a", "deleted b"]
        assert ["call_2", ["call_o"]] in results
        assert results[-1] == ["call_o", None]
        assert (ends[-1], done, raw) == (["call_o"], [["stop"]], [])


def test_only_a_subagent_with_a_task_remembers_it_after_a_pause(found: dict[str, Any]) -> None:
    """ADK gives the other kind the person's message: docs/adk.md says so."""
    firsts = {mode: case[-1] for mode, case in found["subagents"].items()}
    assert firsts == {
        "task": ['{"request": "Clean."}'] * 3,
        "single_turn": ["Clean.", "Go.", "Go."],
    }


def test_agent_that_was_transferred_to_goes_on(found: dict[str, Any]) -> None:
    names, status, text = found["transferred"]
    assert names == [[["boss"], ["helper"]], [["helper"]]]
    assert (status, text) == ([["helper takes over"]], [["B."]])


def test_sequence_continues_after_a_pause(found: dict[str, Any]) -> None:
    assert found["sequence"] == [["deleted a", "deleted b"], [["A."], ["B."]]]


# Errors


def test_a_tool_that_raises_ends_the_run_and_leaves_the_session_usable(
    found: dict[str, Any],
) -> None:
    errors, results, kinds = found["broken_tool"]
    assert errors == [["The agent failed."]]
    assert results == [["error"]]
    assert kinds == ["user", "call", "result", "user"]


def test_functions_make_agents_and_nothing_else(found: dict[str, Any]) -> None:
    assert found["made_by_functions"] == [
        [[["stop"]], [["stop"]], [["error"]], [["error"]]],
        ["closed"],
    ]
