"""What agents ask of people, with the real AI SDK clients: now, after a reload, after a restart."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.chat_clients import Frontend, Json, Report, on_wire
from server.live_server import live_server
from server.scripted_agent import Gate, Step, emit, pieces, prompt, text

CALL, REQUEST = "call_1", "may_call_1"
OFFICIAL = "IsCompleteWithApprovalResponses"  # what the client brings to decide when to send

DONE = [emit("tool_result", tool_use_id=CALL, content="deleted"), text("It is gone.")]
LEFT = [emit("tool_result", tool_use_id=CALL, content="No.", status="denied"), text("It stays.")]
BEFORE = [
    emit("status", message="Looking"),
    *pieces("thinking", "thought_1", ["a", "file"]),
    text("I would delete it."),
    emit("tool_use", id=CALL, name="delete_file", input={"path": "a.txt"}),
]
APPROVAL: Step = ["approve", CALL, DONE, LEFT]
ASKS = prompt(*BEFORE, APPROVAL, emit("usage", input_tokens=1, output_tokens=2))
LEAVES = prompt(
    *BEFORE,
    emit("input_request", id=REQUEST, kind="approval", tool_call_id=CALL, prompt="May I?"),
    emit("paused", request_ids=[REQUEST], resume=[APPROVAL, text("Bye.")]),
    ["exit", 0],
)


def tool_of(message: Json) -> Json:
    (part,) = (part for part in message["parts"] if part["type"] == "dynamic-tool")
    tool: Json = part
    return tool


def without_approval(frontend: Frontend, messages: list[Json]) -> list[Json]:
    """Version 6 has no chunk for an answer: only the page that gave it knows of it."""
    if frontend.profile == "v7":
        return messages
    return [
        {
            **message,
            "parts": [
                {name: value for name, value in part.items() if name != "approval"}
                for part in message["parts"]
            ],
        }
        for message in messages
    ]


def essence(message: Json) -> list[Json]:
    """What is left of any run that says this: not its lines of progress, nor times, nor its id."""
    parts = [part for part in message["parts"] if part["type"] != "reasoning"]
    told: list[Json] = json.loads(json.dumps(parts).replace(message["id"], "run"))
    return [{**part, "providerMetadata": None} for part in told]


def assert_asked(report: Report, frontend: Frontend) -> None:
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    tool = tool_of(report.messages[-1])
    asked = {"id": on_wire(report.messages[-1], REQUEST)}
    if frontend.profile == "v7":
        asked["requestReason"] = "May I?"
    assert (tool["state"], tool["approval"]) == ("approval-requested", asked)


def assert_answered(
    report: Report, frontend: Frontend, chat_id: str, approved: bool, answers: int = 1
) -> None:
    assert (report.status, report.error) == ("ready", None)
    assert report.invalid is None or (frontend.profile == "v6" and not approved)
    tool = tool_of(report.messages[-1])
    denied = "output-denied" if frontend.profile == "v7" else "output-error"
    assert tool["state"] == ("output-available" if approved else denied)
    assert tool["approval"]["approved"] is approved
    assert sum(request["method"] == "POST" for request in report.requests) == answers
    stored = frontend.stored(chat_id)
    assert stored["activeRun"] is None
    assert without_approval(frontend, report.messages) == stored["messages"]
    reloaded = frontend.reload(chat_id).resume()
    assert (reloaded.messages, reloaded.invalid) == (stored["messages"], None)


# An approval


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "denied"])
@pytest.mark.parametrize("asking", [ASKS, LEAVES], ids=["agent waits", "agent has left"])
def test_page_with_the_request_answers(
    frontend: Frontend, chat_id: str, asking: str, approved: bool
) -> None:
    page = frontend.open(chat_id, auto=OFFICIAL)
    assert_asked(page.send(asking), frontend)
    report = page.answer(REQUEST, approved)
    assert_answered(report, frontend, chat_id, approved, answers=2)
    assert page.send(prompt(["history"])).status == "ready"


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "denied"])
def test_a_page_that_was_reloaded_answers(frontend: Frontend, chat_id: str, approved: bool) -> None:
    asked = frontend.open(chat_id, auto=OFFICIAL).send(ASKS)
    waiting = frontend.stored(chat_id)
    assert (waiting["messages"], waiting["activeRun"]["status"]) == (asked.messages[:1], "waiting")
    page = frontend.reload(chat_id, auto=OFFICIAL)
    resumed = page.resume()
    assert_asked(resumed, frontend)
    assert resumed.messages == asked.messages
    assert_answered(page.answer(REQUEST, approved), frontend, chat_id, approved)


def test_the_first_of_two_pages_answers(frontend: Frontend, chat_id: str) -> None:
    first = frontend.open(chat_id, auto=OFFICIAL)
    first.send(ASKS)
    second = frontend.reload(chat_id, auto=OFFICIAL)
    second.resume()
    assert_answered(first.answer(REQUEST, True), frontend, chat_id, True, answers=2)
    late = second.answer(REQUEST, False)
    assert (late.status, late.error) == ("ready", None)
    assert late.requests[-1]["status"] == 200
    assert tool_of(late.messages[-1])["state"] == "output-available"
    reloaded = frontend.reload(chat_id).resume()
    assert reloaded.messages == frontend.stored(chat_id)["messages"]
    assert tool_of(reloaded.messages[-1])["state"] == "output-available"


def test_a_connection_that_dies_after_the_answer(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    waits: Step = ["approve", CALL, [text("Well,"), gate.step, *DONE], LEFT]
    page = frontend.open(chat_id, auto=OFFICIAL)
    asked = page.send(prompt(*BEFORE, waits)).messages[-1]
    page.begin("addToolApprovalResponse", {"id": on_wire(asked, REQUEST), "approved": True})
    gate.wait()
    reloaded = frontend.reload(chat_id)
    reloaded.begin("resumeStream")
    reloaded.read(1)
    page.begin("stop")
    page.settle()
    page.begin("resumeStream")
    gate.open()
    again = page.settle()
    report = reloaded.settle()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert report.messages == frontend.stored(chat_id)["messages"]
    assert again.messages == report.messages


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "denied"])
def test_subagent_requests_input_while_its_call_is_open(
    frontend: Frontend, chat_id: str, approved: bool
) -> None:
    within = [
        emit("tool_use", id="agent_1", name="task", input={}, kind="agent"),
        emit("subagent_start", id="agent_1", agent="helper"),
        emit("tool_use", id=CALL, name="delete_file", input={}, scope=["agent_1"]),
    ]
    after = [
        emit("subagent_end", id="agent_1", agent="helper"),
        emit("tool_result", tool_use_id="agent_1", content="helped"),
    ]
    page = frontend.open(chat_id, auto="all answered")
    page.send(prompt(*within, APPROVAL, *after, text("Well.")))
    report = page.answer(REQUEST, approved)
    assert (report.status, report.error, len(report.requests)) == ("ready", None, 2)
    assert without_approval(frontend, report.messages) == frontend.stored(chat_id)["messages"]
    calls = [part["state"] for part in report.messages[-1]["parts"] if "toolCallId" in part]
    denied = "output-denied" if frontend.profile == "v7" else "output-error"
    assert calls == ["output-available", "output-available" if approved else denied]


def test_unrelated_message_does_not_answer_a_request(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id, auto=OFFICIAL)
    assert_asked(page.send(ASKS), frontend)
    report = page.send(prompt(["history"]))
    assert (report.status, report.error) == ("ready", None)
    stored = frontend.reload(chat_id).resume()
    assert (stored.status, stored.invalid) == ("ready", None)
    assert [message["role"] for message in stored.messages] == ["user", "assistant"] * 2
    assert stored.messages[1]["metadata"]["reason"] == "cancelled"
    assert tool_of(stored.messages[1])["state"] == "output-error"
    assert stored.messages[-1]["parts"][-1]["text"] == "user assistant"


@pytest.mark.parametrize("asking", [ASKS, LEAVES], ids=["agent waits", "agent has left"])
def test_a_run_that_waits_can_be_stopped(frontend: Frontend, chat_id: str, asking: str) -> None:
    page = frontend.open(chat_id, auto=OFFICIAL)
    page.send(asking)
    assert frontend.post(chat_id, "stop").is_success
    report = page.send(prompt(["history"]))
    assert (report.status, report.error) == ("ready", None)
    stored = frontend.reload(chat_id).resume()
    assert (stored.status, stored.invalid) == ("ready", None)
    assert stored.messages[1]["metadata"]["reason"] == "cancelled"


# More than yes or no

ALL = ["approve", "edit", "reject", "respond"]
DECIDES = prompt(*BEFORE, ["decide", CALL, ALL], text(" Bye."))
DECIDES_LATER = prompt(
    *BEFORE,
    emit(
        "input_request",
        id=REQUEST,
        kind="approval",
        tool_call_id=CALL,
        prompt="May I?",
        allowed=ALL,
    ),
    emit("paused", request_ids=[REQUEST], resume=[["decide", CALL, ALL], text(" Bye.")]),
    ["exit", 0],
)
CHANGED = {"path": "b.txt"}


def request_in(message: Json) -> Json:
    (part,) = (part for part in message["parts"] if part["type"] == "data-input")
    data: Json = part["data"]
    return data


@pytest.mark.parametrize("asking", [DECIDES, DECIDES_LATER], ids=["agent waits", "agent has left"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"decision": "edited", "value": CHANGED}, 'edited with {"path": "b.txt"}'),
        ({"decision": "answered", "value": "Gone."}, 'answered with "the input"'),
        ({"decision": "denied"}, 'denied with "the input"'),
    ],
    ids=["edited", "answered", "denied"],
)
def test_a_decision_beside_the_chat(
    frontend: Frontend, chat_id: str, asking: str, answer: Json, said: str
) -> None:
    page = frontend.open(chat_id)
    asked = page.send(asking)
    assert_asked(asked, frontend)
    assert request_in(asked.messages[-1])["allowed"] == ALL
    asked_id = on_wire(asked.messages[-1], REQUEST)
    told = frontend.post(chat_id, "answer", requestId=asked_id, **answer)
    assert told.status_code == 202
    report = frontend.reload(chat_id, run=asked.messages[-1]["id"]).resume()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert report.messages == frontend.stored(chat_id)["messages"]
    assert request_in(report.messages[-1])["answered"] == answer
    assert report.messages[-1]["parts"][-1]["text"].endswith(f"{said} Bye.")


def test_an_output_of_the_page_stands_for_the_tool(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    asked = page.send(DECIDES).messages[-1]
    output = {"tool": "delete_file", "toolCallId": on_wire(asked, CALL), "output": "Gone."}
    page.begin("addToolOutput", output)
    page.settle()
    page.begin("sendMessage")
    report = page.settle()
    assert (report.status, report.error) == ("ready", None)
    assert report.messages[-1]["parts"][-1]["text"] == 'answered with "the input" Bye.'
    answered = request_in(frontend.stored(chat_id)["messages"][-1])["answered"]
    assert answered == {"decision": "answered", "value": "Gone."}
    reloaded = frontend.reload(chat_id).resume()
    assert (reloaded.messages, reloaded.invalid) == (frontend.stored(chat_id)["messages"], None)


@pytest.mark.parametrize("asking", [ASKS, LEAVES], ids=["agent waits", "agent has left"])
def test_decision_that_the_agent_does_not_allow_is_rejected(
    frontend: Frontend, chat_id: str, asking: str
) -> None:
    frontend.open(chat_id).send(asking)
    refused = frontend.post(chat_id, "answer", requestId=REQUEST, decision="edited", value=CHANGED)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "decision_not_allowed")
    assert error["allowed"] == ["approved", "denied", "cancelled"]
    assert "expected approved or denied or cancelled, got 'edited'" in error["message"]
    page = frontend.reload(chat_id, auto=OFFICIAL)
    assert_asked(page.resume(), frontend)
    assert_answered(page.answer(REQUEST, True), frontend, chat_id, True)


def test_an_edit_without_an_input_is_refused(frontend: Frontend, chat_id: str) -> None:
    frontend.open(chat_id).send(DECIDES)
    refused = frontend.post(chat_id, "answer", requestId=REQUEST, decision="edited")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["field"]) == (400, "invalid_request", "value")


# A restart

EACH_MAJOR = pytest.mark.parametrize("frontend", ["ai-v6 v6", "ai v7"], indirect=True)


@contextmanager
def started_anew(
    data: Path, agents: Path, frontend: Frontend, chat_id: str, how: signal.Signals
) -> Iterator[tuple[Frontend, list[Json]]]:
    """A server that ended while a run of this chat waited, and the next one on the same data."""
    with live_server(data, "--agents", agents) as before:
        asked = frontend.at(before).open(chat_id, auto=OFFICIAL).send(ASKS)
        assert_asked(asked, frontend)
        before.signal(how)
        before.wait()
    with live_server(data, "--agents", agents) as after:
        yield frontend.at(after), asked.messages


@pytest.mark.parametrize(
    ("frontend", "how", "approved"),
    [
        ("ai-v6 v6", signal.SIGTERM, True),
        ("ai-v6 v6", signal.SIGKILL, False),
        ("ai v7", signal.SIGTERM, False),
        ("ai v7", signal.SIGKILL, True),
    ],
    indirect=["frontend"],
)
def test_an_answer_after_a_restart_is_as_good(
    frontend: Frontend,
    chat_id: str,
    agents: Path,
    tmp_path: Path,
    how: signal.Signals,
    approved: bool,
) -> None:
    unbroken = frontend.open(chat_id, auto=OFFICIAL)
    unbroken.send(ASKS)
    expected = unbroken.answer(REQUEST, approved).messages[-1]
    with started_anew(tmp_path / "data", agents, frontend, chat_id, how) as (again, messages):
        page = again.reload(chat_id, auto=OFFICIAL)
        assert page.resume().messages == messages
        report = page.answer(REQUEST, approved)
        assert_answered(report, again, chat_id, approved)
        assert essence(report.messages[-1]) == essence(expected)


@EACH_MAJOR
def test_a_page_that_was_open_over_the_restart_answers(
    frontend: Frontend, chat_id: str, agents: Path, tmp_path: Path
) -> None:
    with started_anew(tmp_path / "data", agents, frontend, chat_id, signal.SIGKILL) as (
        again,
        messages,
    ):
        page = again.open(chat_id, messages=messages, auto=OFFICIAL)
        assert_answered(page.answer(REQUEST, True), again, chat_id, True)


@EACH_MAJOR
def test_run_interrupted_by_a_restart_is_marked_as_interrupted(
    frontend: Frontend, chat_id: str, agents: Path, tmp_path: Path, gate: Gate
) -> None:
    with live_server(tmp_path / "data", "--agents", agents) as before:
        page = frontend.at(before).open(chat_id)
        page.begin("sendMessage", {"text": prompt(text("Half a"), gate.step, text(" word"))})
        gate.wait()
        before.signal(signal.SIGTERM)
        report = page.settle()
        assert before.wait() == 0
    assert (report.status, report.error) == ("ready", None)
    with live_server(tmp_path / "data", "--agents", agents) as after:
        again = frontend.at(after)
        assert again.stored(chat_id)["messages"] == report.messages
        assert report.messages[-1]["metadata"]["reason"] == "interrupted"
        assert again.reload(chat_id).send(prompt(["history"])).status == "ready"


# A question

COMPLETE = "IsCompleteWithToolCalls"  # what the client brings to decide when to send
QUESTION: Step = ["ask", "colour", "Which?"]
LATER: list[Step] = [
    emit("input_request", id="colour", kind="question", prompt="Which?"),
    emit("paused", request_ids=["colour"], resume=[QUESTION, text(" Good.")]),
    ["exit", 0],
]
each_version = pytest.mark.parametrize(
    "frontend", ["ai-v5 v5", "ai-v6 v6", "ai v6", "ai v7"], indirect=True
)


def question_in(message: Json) -> Json:
    """The last question of a message."""
    asked: list[Json] = [part for part in message["parts"] if part["type"] == "tool-ask_user"]
    return asked[-1]


def words_in(message: Json) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


@each_version
@pytest.mark.parametrize(
    "asking", [[QUESTION, text(" Good.")], LATER], ids=["agent waits", "agent has left"]
)
def test_page_answers_a_question_as_it_does_a_tool(
    frontend: Frontend, chat_id: str, asking: list[Step]
) -> None:
    page = frontend.open(chat_id, auto=COMPLETE)
    asked = page.send(prompt(text("Well. "), *asking))
    assert (asked.status, asked.error, asked.invalid) == ("ready", None, None)
    call = question_in(asked.messages[-1])["toolCallId"]
    page.begin("addToolOutput", {"tool": "ask_user", "toolCallId": call, "output": "red"})
    report = page.settle()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert [request["method"] for request in report.requests] == ["POST", "POST"]
    assert words_in(report.messages[-1]) == "Well. answered: red Good."
    assert report.messages == frontend.stored(chat_id)["messages"]
    reloaded = frontend.reload(chat_id).resume()
    assert (reloaded.messages, reloaded.invalid) == (report.messages, None)


@each_version
def test_reloaded_page_answers_by_hand(frontend: Frontend, chat_id: str) -> None:
    frontend.open(chat_id).send(prompt(QUESTION))
    page = frontend.reload(chat_id)
    call = question_in(page.resume().messages[-1])["toolCallId"]
    output = {"state": "output-error", "errorText": "No idea."}
    page.begin("addToolOutput", {"tool": "ask_user", "toolCallId": call, **output})
    page.settle()
    page.begin("sendMessage")
    report = page.settle()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert words_in(report.messages[-1]) == "denied: None"
    part = question_in(report.messages[-1])
    assert (part["state"], part["errorText"]) == ("output-error", "No idea.")
    assert report.messages == frontend.stored(chat_id)["messages"]


@each_version
def test_questions_in_turn_are_answered_in_turn(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id, auto=COMPLETE)
    page.send(prompt(QUESTION, ["ask", "size", "How big?"], text(" Good.")))
    for answer in ("red", "small"):
        call = question_in(page.settle().messages[-1])["toolCallId"]
        page.begin("addToolOutput", {"tool": "ask_user", "toolCallId": call, "output": answer})
    report = page.settle()
    assert (report.status, report.error, len(report.requests)) == ("ready", None, 3)
    assert words_in(report.messages[-1]) == "answered: redanswered: small Good."
    assert report.messages == frontend.stored(chat_id)["messages"]


@each_version
def test_same_question_is_asked_and_answered_twice(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id, auto=COMPLETE)
    page.send(prompt(QUESTION, QUESTION))
    for answer in ("red", "blue"):
        call = question_in(page.settle().messages[-1])["toolCallId"]
        page.begin("addToolOutput", {"tool": "ask_user", "toolCallId": call, "output": answer})
    report = page.settle()
    assert (report.status, report.error, len(report.requests)) == ("ready", None, 3)
    assert words_in(report.messages[-1]) == "answered: redanswered: blue"
    assert report.messages == frontend.stored(chat_id)["messages"]


@each_version
def test_question_about_a_call_is_answered_while_the_call_is_open(
    frontend: Frontend, chat_id: str
) -> None:
    page = frontend.open(chat_id, auto="all answered")
    asking: list[Step] = [
        emit("tool_use", id=CALL, name="AskUserQuestion", input={}),
        emit("input_request", id="colour", kind="question", tool_call_id=CALL),
        QUESTION,
        emit("tool_result", tool_use_id=CALL, content="red"),
    ]
    asked = question_in(page.send(prompt(*asking)).messages[-1])
    output = {"tool": "ask_user", "toolCallId": asked["toolCallId"], "output": "red"}
    page.begin("addToolOutput", output)
    report = page.settle()
    assert (report.status, report.error, len(report.requests)) == ("ready", None, 2)
    assert words_in(report.messages[-1]) == "answered: red"
    assert report.messages == frontend.stored(chat_id)["messages"]


@pytest.mark.parametrize(("output", "said"), [(True, "It is gone."), ("reject", "It stays.")])
@pytest.mark.parametrize("frontend", ["ai-v5 v5"], indirect=True)
def test_version_5_approves_by_an_answer(
    frontend: Frontend, chat_id: str, output: object, said: str
) -> None:
    page = frontend.open(chat_id)
    asked = question_in(page.send(ASKS).messages[-1])
    assert asked["input"]["kind"] == "approval"
    answer = {"tool": "ask_user", "toolCallId": asked["toolCallId"], "output": output}
    page.begin("addToolOutput", answer)
    page.settle()
    page.begin("sendMessage")
    report = page.settle()
    assert (report.status, report.error) == ("ready", None)
    assert words_in(report.messages[-1]).endswith(said)
    assert report.messages == frontend.stored(chat_id)["messages"]


@pytest.mark.parametrize("frontend", ["ai-v6 v6", "ai v6", "ai v7", "ai-v5 v5"], indirect=True)
def test_a_question_is_answered_beside_the_chat(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    asked = page.send(prompt(text("Well. "), ["ask", "colour", "Which?"], text(" Good.")))
    assert (asked.status, asked.error, asked.invalid) == ("ready", None, None)
    part = question_in(asked.messages[-1])
    assert part["state"] == "input-available"
    assert part["input"] == {"kind": "question", "prompt": "Which?", "options": ["red", "blue"]}
    told = frontend.post(chat_id, "answer", requestId=part["toolCallId"], value="red")
    assert (told.status_code, told.json()["runId"]) == (202, asked.messages[-1]["id"])
    again = frontend.post(chat_id, "answer", requestId="colour", value="blue")
    assert (again.status_code, again.json()["value"]) == (200, "red")
    report = frontend.reload(chat_id, run=asked.messages[-1]["id"]).resume()
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert report.messages == frontend.stored(chat_id)["messages"]
    part = question_in(report.messages[-1])
    assert (part["state"], part["output"]) == ("output-available", "red")
    words = [part["text"] for part in report.messages[-1]["parts"] if part["type"] == "text"]
    assert "".join(words) == "Well. answered: red Good."
    if frontend.profile != "v5":
        assert page.resume().messages == report.messages


def test_an_answer_to_nothing_is_an_error(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    page.send(prompt(text("One")))
    assert frontend.post(chat_id, "answer", requestId="colour").is_client_error
    page.send(prompt(["ask", "colour", "Which?"]))
    assert frontend.post(chat_id, "answer", requestId="size").is_client_error
    assert frontend.post(chat_id, "answer", requestId="colour").status_code == 202
