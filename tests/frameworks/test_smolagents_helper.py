"""The helper for smolagents, as a function agent of an app with the real package.

run_smolagents_app.py has the cases; the matrix has those that need processes.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.live_server import clean_environment

SCRIPT = Path(__file__).parent / "run_smolagents_app.py"
OFFLINE = {"NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}
LOOKED = "look_up(city='Lisbon'): 21 degrees in Lisbon"
DENIED = "The user denied this call. Do not repeat it unless the user asks for it. "


def of_code(*lines: str) -> str:
    """What the model is told about code whose process has ended."""
    why = (
        "The process that ran this code ended before the code did: its variables are lost, and "
        "what comes after the last of these calls did not run."
    )
    return "\n".join(["Observation:", why, *lines])


def printed(text: str, value: str) -> str:
    logs = f"Execution logs:\n{text}\n" if text else "Execution logs:\n"
    return f"{logs}Last output from code snippet:\n{value}"


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
    cases: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])  # smolagents prints too
    return cases


def test_calls_of_code_are_shown_and_remembered(found: dict[str, Any]) -> None:
    (calls, results), answers, told, raw = found["calls_of_code"]
    assert calls == [
        ["call_1", "python_interpreter", "code", None],
        ["call_1.1", "look_up", None, None],
        ["call_2", "python_interpreter", "code", None],
    ]
    assert results[:2] == [
        ["call_1.1", "21 degrees in Lisbon", None, None],
        ["call_1", "21 degrees in Lisbon", None, None],
    ]
    assert answers == [["That is all."], ["That is all."]]
    assert told == [
        "New task:\n[[look look]] Go.",
        f"Observation:\n{printed('21 degrees in Lisbon', 'None')}",
        f"Observation:\n{printed('', 'That is all.')}\nNew task:\nAgain.",
    ]
    assert raw == []


def test_a_call_that_fails_has_its_error(found: dict[str, Any]) -> None:
    results, observed = found["failing_call"]
    assert results[0] == ["call_1.1", "ValueError: no 1", "error"]
    assert results[1][2] == "error"
    assert "ValueError: no 1" in observed


def test_a_loop_of_calls_is_shown_up_to_a_limit(found: dict[str, Any]) -> None:
    assert found["many_calls"] == [202, [["stop"]]]


def test_a_person_decides_about_a_call_of_code(found: dict[str, Any]) -> None:
    requests, (approved, edited, denied, answered) = found["decided"]
    allowed = ["approve", "edit", "reject", "respond"]
    assert requests == [[None, "call_1.2", "Allow delete_file?", allowed]]
    assert approved[:3] == [[], ["deleted a.txt", "after"], ["call_1.2", "deleted a.txt", None]]
    assert edited[:3] == [[], ["deleted b.txt", "after"], ["call_1.2", "deleted b.txt", None]]
    assert denied[:2] == [[], []], "the code after a denied call does not run"
    assert denied[2] == ["call_1.2", f"{DENIED}It is the only copy.", "denied"]
    assert "It is the only copy." in denied[3]
    assert answered[:3] == [[], ["after"], ["call_1.2", "It is gone already.", None]]
    assert answered[3] == f"Observation:\n{printed('It is gone already.', 'noted')}"


def test_an_approved_call_is_made_by_the_next_process_and_only_that(found: dict[str, Any]) -> None:
    modes, effects, results, observed, usage, done, again = found["approved_later"]
    assert modes == [0o600, 0o600], "the steps are stored, for their owner only"
    assert effects == ["deleted a.txt"], "the code is not run again, nor what follows"
    assert results[0] == ["call_1.2", "deleted a.txt", None]
    assert [results[1][0], results[1][2]] == ["call_1", "interrupted"]
    assert observed == of_code(LOOKED, "delete_file(path='a.txt'): deleted a.txt")
    assert (usage, done) == ([[100], [100]], [["stop"]])
    assert [kind for kind, _ in again] == ["user", "text", "user", "text", "user"]
    assert again[2] == ["user", observed]


def test_a_denied_call_is_not_made_by_the_next_process(found: dict[str, Any]) -> None:
    effects, results, observed = found["denied_later"]
    assert effects == []
    assert results[:2] == [["call_1.2", "denied"], ["call_1", "interrupted"]]
    assert observed == of_code(LOOKED, f"delete_file(path='a.txt'): {DENIED}No.")


def test_a_call_whose_arguments_were_not_stored_is_not_made(found: dict[str, Any]) -> None:
    effects, observed = found["not_json"]
    assert effects == []
    assert observed.endswith("If it is still needed, call it again.")


def test_a_message_instead_of_a_decision_is_told_to_the_model(found: dict[str, Any]) -> None:
    why = "Not carried out: the user sent another message instead of a decision about this call."
    line = f"delete_file(path='a.txt'): {why}"
    told = f"{of_code(LOOKED, line)}\nNew task:\nNever mind."
    assert found["another_message"] == [[], told]


def test_answers_without_the_steps_are_an_error(found: dict[str, Any]) -> None:
    assert found["lost_steps"] == [[], [["crashed"]]]


def test_a_tool_that_needs_an_approval_does_not_run_by_itself(found: dict[str, Any]) -> None:
    (refused, wrong), name, is_described_alike = found["marks"]
    assert refused.startswith("delete_file needs an approval")
    assert wrong.startswith("allow: expected some of")
    assert (name, is_described_alike) == ("delete_file", True)


def test_a_condition_decides_which_calls_are_asked_about(found: dict[str, Any]) -> None:
    assert found["only_some"] == [["deleted a.txt", "after"], []]


def test_code_that_runs_elsewhere_cannot_ask(found: dict[str, Any]) -> None:
    assert found["elsewhere"] == [["crashed"]]


def test_a_managed_agent_is_nested_and_asks(found: dict[str, Any]) -> None:
    asked, started, ended, (calls, results), done = found["nested"]
    assert asked == [["call_1.1/call_1", ["call_1.1"]]]
    assert started == [["call_1.1", "cleaner"]]
    assert ended == [["call_1.1", "It is clean."]]
    assert [name for _, name, _, _ in calls] == [
        *("python_interpreter", "cleaner", "delete_file", "final_answer", "python_interpreter"),
    ]
    assert results[0] == ["call_1.1/call_1", "deleted a.txt", None, ["call_1.1"]]
    assert results[2][0] == "call_1.1"
    assert done == [["stop"]]


def test_a_call_of_a_managed_agent_is_made_by_the_next_process(found: dict[str, Any]) -> None:
    effects, results, observed, done = found["nested_later"]
    assert effects == ["deleted a.txt"]
    assert results[:3] == [
        ["call_1.1/call_1", None, ["call_1.1"]],
        ["call_1.1", "interrupted", None],
        ["call_1", "interrupted", None],
    ]
    assert observed.endswith("It had made these calls:\ndelete_file(path='a.txt'): deleted a.txt")
    assert done == [["stop"]]


def test_a_managed_agent_may_be_called_twice_at_once(found: dict[str, Any]) -> None:
    ends, inner, texts = found["two_at_once"]
    assert ends == [["call_1", "One."], ["call_2", "Two."]]
    assert inner[0] == ["call_1/call_a", ["call_1"], "21 degrees in Lisbon"]
    assert inner[2] == ["call_2/call_b", ["call_2"], "21 degrees in Porto"]
    assert texts[-1] == ["Both."]


def test_a_managed_agent_that_fails_is_a_failed_call(found: dict[str, Any]) -> None:
    results, is_told, done = found["failing_agent"]
    assert results[:2] == [["call_1.1", "error"], ["call_1", "error"]]
    assert (is_told, done) == (True, [["stop"]])


def test_the_page_runs_its_tools(found: dict[str, Any]) -> None:
    in_code, later, called, failed = found["page_tools"]
    assert in_code == [[["tool", "call_1.1"]], [None], f"Observation:\n{printed('True', 'None')}"]
    assert later[2] == of_code("fill_form(who='Ann'): {\"filled\": true}")
    assert called == [[["tool", "call_1"]], [None], 'Observation:\n{"filled": true}']
    assert failed[1:] == [
        ["error"],
        "Observation:\nThe page could not run this call. No such form.",
    ]


def test_a_person_answers_a_question(found: dict[str, Any]) -> None:
    asked, observed = found["question"]
    assert asked == [["question", "Which one?"]]
    assert observed == f"Observation:\n{printed('The red one.', 'None')}"


def test_images_are_told_once_and_other_files_are_named(found: dict[str, Any]) -> None:
    task = "New task:\n[[look images]] What is it?\n[file a, 2 bytes]\nhi.txt:\nHi"
    assert found["images"] == [["user", task], 1, 1]


def test_a_call_that_was_stopped_is_unknown_and_not_made_again(found: dict[str, Any]) -> None:
    unknown = "hold(): unknown: it is not known whether this call was made"
    observed = f"{of_code(LOOKED, unknown)}\nNew task:\nWhat happened?"
    assert found["stopped"] == [[], observed]


def test_chats_that_share_an_agent_do_not_mix(found: dict[str, Any]) -> None:
    answers = {"left": [["Three."]], "right": [["Three."]]}
    assert found["two_chats"] == [answers, 0, []], "the agent itself is not used"


def test_runs_without_stored_steps_are_remembered_by_their_messages(found: dict[str, Any]) -> None:
    told = found["without_files"]
    assert told[0] == ["user", "New task:\n[[look foreign]] Go."]
    assert told[-2:] == [["text", "That is all."], ["user", "New task:\nAnd then?"]]
    assert "'name': 'look_up', 'arguments': {'city': 'Lisbon'}" in told[1][1]


def test_the_limit_of_steps_is_the_reason_of_the_end(found: dict[str, Any]) -> None:
    assert found["limit"] == [["max_turns"]]


def test_functions_make_the_agent_its_task_and_its_variables(found: dict[str, Any]) -> None:
    task, reasons = found["options"]
    assert task.startswith("New task:\n[[look options]] For options.\nYou have been provided")
    assert reasons == [["stop"], ["error"]], "what is no agent is an error"
