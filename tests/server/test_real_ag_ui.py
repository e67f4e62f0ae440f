"""Threads of the real AG-UI clients: what is read live is told again, whatever people do."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from server.ag_ui_clients import NEWEST, AGUIFrontend, Json, Report
from server.scripted_agent import Gate, a_day_of_work, emit, pieces, prompt, text, tool

LOCATE = {"name": "locate", "description": "Where?", "parameters": {"type": "object"}}


def events_of(body: str) -> list[Json]:
    return [json.loads(frame[5:]) for frame in body.split("\n\n") if frame.startswith("data:")]


def told_again(agui: AGUIFrontend, thread_id: str) -> list[Json]:
    """The messages that a page is told first which has nothing of the thread."""
    version = {"protocolVersion": "1.0"} if agui.client == NEWEST else {}
    body: Json = {"threadId": thread_id, "runId": str(uuid4()), "messages": [], **version}
    told = agui.http.post(f"{agui.url}/api/agui/chat/connect", json=body).raise_for_status()
    snapshots = [each for each in events_of(told.text) if each["type"] == "MESSAGES_SNAPSHOT"]
    messages: list[Json] = snapshots[-1]["messages"]
    return messages


def assert_told_again(report: Report, agui: AGUIFrontend, thread_id: str) -> None:
    assert (report.failure, report.warnings) == (None, [])
    assert told_again(agui, thread_id) == report.messages
    assert agui.stored(thread_id)["activeRun"] is None


# Running


def test_replay_equals_what_was_read(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    report = page.say(prompt(*a_day_of_work()))
    assert_told_again(report, agui, chat_id)
    assert report.outcome == "success"
    assert report.state == {"turn": 4}
    assert report.ending["usage"]


def test_two_turns_on_a_thread(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    assert page.say(prompt(text("One"))).text == "One"
    report = page.say(prompt(["history"]))
    assert report.text == "user assistant"
    assert_told_again(report, agui, chat_id)
    assert len(agui.stored(chat_id)["messages"]) == 4


def test_retraction_removes_nothing_else(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    first = page.say(prompt(*pieces("thinking", "t", ["hm"]), text("One"))).messages
    broken = emit("retract", blocks=["answer"], reason="retry")
    report = page.say(prompt(*pieces("text", "answer", ["Tw"]), broken, text("Two")))
    assert report.messages[:3] == first
    assert [message.get("content") for message in report.messages[4:]] == ["Two"]
    assert_told_again(report, agui, chat_id)


def test_the_same_words_again_are_another_try(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    first = page.say(prompt(text("One"))).messages
    again = agui.open(chat_id, messages=first[:1])
    report = again.run()
    assert_told_again(report, agui, chat_id)
    assert report.roles == ["user", "assistant"]
    assert report.messages[1]["id"] != first[1]["id"]


def test_failing_run_is_marked_as_failed(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    report = page.say(prompt(text("Half a"), ["exit", 3]))
    assert report.ending["type"] == "RUN_ERROR"
    assert report.text == "Half a"
    assert_told_again(page.say(prompt(text("Better"))), agui, chat_id)


def test_rejected_request_has_a_reason(agui: AGUIFrontend, chat_id: str) -> None:
    refused = agui.open(chat_id, agent="nobody").say("Hello")
    assert refused.failure
    assert "unknown_agent" in refused.failure
    assert "message of a user" in (agui.open(chat_id).run().failure or "")


def test_the_body_may_name_the_agent(agui: AGUIFrontend, chat_id: str) -> None:
    body = {"thread_id": chat_id, "run_id": "r1", "forwarded_props": {"agent": "nobody"}}
    said = {"id": "m1", "role": "user", "content": prompt(text("Hi"))}
    address = f"{agui.url}/api/agui/chat"
    refused = agui.http.post(address, json={**body, "messages": [said]})
    assert refused.json()["error"]["code"] == "unknown_agent"
    chosen = {**body, "forwarded_props": {"agent": "scripted"}, "messages": [said]}
    assert '"delta":"Hi"' in agui.http.post(address, json=chosen).text


def test_a_request_that_comes_again_is_answered_again(agui: AGUIFrontend, chat_id: str) -> None:
    said = {"id": "m1", "role": "user", "content": prompt(["page", "c1", "f", {}], text("Bye"))}
    body: Json = {"threadId": chat_id, "runId": "r1", "messages": [said], "protocolVersion": "1.0"}
    address = f"{agui.url}/api/agui/agents/scripted"
    once = agui.http.post(address, json=body).text
    assert agui.http.post(address, json=body).text == once
    call = events_of(once)[-1]["outcome"]["pendingToolCallIds"][0]
    result = {"id": "t1", "role": "tool", "toolCallId": call, "content": "1"}
    answer = {**body, "runId": "r2", "messages": [said, result]}
    told = agui.http.post(address, json=answer).text
    assert '"delta":"answered: 1"' in told
    assert agui.http.post(address, json=answer).text == told
    late = agui.http.post(address, json={**answer, "runId": "r3"})
    assert late.text == told.replace('"r2"', '"r3"')


# Leaving and stopping


def test_a_page_that_leaves_ends_nothing(agui: AGUIFrontend, chat_id: str, gate: Gate) -> None:
    page = agui.open(chat_id)
    page.begin(prompt(text("One"), gate.step, text(" two")))
    gate.wait()
    page.read(3)
    page.abort()
    left = page.settle()
    assert left.outcome is None
    gate.open()
    told_again(agui, chat_id)  # which reads to the end
    report = page.say(prompt(["history"]))
    assert report.text == "user assistant"
    assert told_again(agui, chat_id)[1]["content"] == "One two"


def test_a_stop_ends_the_run_where_it_was(agui: AGUIFrontend, chat_id: str, gate: Gate) -> None:
    page = agui.open(chat_id)
    said = prompt(*tool("call_1", "look", {"at": "it"}), text("One"), gate.step, text("Two"))
    page.begin(said, runId="first")
    gate.wait()
    assert agui.stop(chat_id, runId="another").json()["runId"] is None
    assert agui.stop(chat_id, runId="first").status_code == 202
    report = page.settle()
    assert report.outcome == ("cancelled" if agui.client == NEWEST else None)
    assert_told_again(report, agui, chat_id)
    assert report.text == "One"
    assert agui.stop(chat_id).json()["runId"] is None
    assert agui.stop("no such thread").status_code == 404


def test_a_run_in_the_way_is_named(agui: AGUIFrontend, chat_id: str, gate: Gate) -> None:
    page = agui.open(chat_id)
    page.begin(prompt(text("One"), gate.step, text(" two")))
    gate.wait()
    refused = agui.open(chat_id).say(prompt(text("Me too")))
    assert "run_active" in (refused.failure or "")
    gate.open()
    assert_told_again(page.settle(), agui, chat_id)


# Being asked

DONE = [emit("tool_result", tool_use_id="call_1", content="deleted"), text("It is gone.")]
LEFT = [emit("tool_result", tool_use_id="call_1", content="No.", status="denied"), text("Well.")]
ASKS = prompt(
    text("I would."),
    emit("tool_use", id="call_1", name="delete", input={"path": "a"}),
    ["approve", "call_1", DONE, LEFT],
)


def resume(asked: Report, payload: Any = None, status: str = "resolved") -> list[Json]:
    told = {} if payload is None else {"payload": payload}
    return [{"interruptId": each["id"], "status": status, **told} for each in asked.interrupts]


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "denied"])
def test_an_interrupt_is_answered(agui: AGUIFrontend, chat_id: str, approved: bool) -> None:
    page = agui.open(chat_id)
    asked = page.say(ASKS)
    assert (asked.failure, asked.warnings, asked.outcome) == (None, [], "interrupt")
    (interrupt,) = asked.interrupts
    assert interrupt["message"] == "May I?"
    assert interrupt["toolCallId"] == asked.messages[-1]["toolCalls"][0]["id"]
    report = page.run(resume=resume(asked, {"approved": approved}))
    assert_told_again(report, agui, chat_id)
    assert report.text == ("It is gone." if approved else "Well.")
    assert report.outcome == "success"
    assert report.roles.count("tool") == 1


DECIDES = prompt(
    text("I would. "),
    emit("tool_use", id="call_1", name="delete", input={"path": "a"}),
    ["decide", "call_1", ["approve", "edit", "respond"]],
)


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"approved": True}, 'approved with "the input"'),
        ({"approved": True, "editedArgs": {"path": "b"}}, 'edited with {"path": "b"}'),
        ("Gone.", 'answered with "the input"'),
    ],
)
def test_an_interrupt_is_answered_by_what_it_allows(
    agui: AGUIFrontend, chat_id: str, payload: Any, said: str
) -> None:
    page = agui.open(chat_id)
    asked = page.say(DECIDES)
    (interrupt,) = asked.interrupts
    assert interrupt["metadata"]["mobox"]["allowed"] == ["approve", "edit", "respond"]
    report = page.run(resume=resume(asked, payload))
    assert_told_again(report, agui, chat_id)
    assert report.text.endswith(said)
    assert report.outcome == "success"


@pytest.mark.parametrize("payload", [{"approved": True, "editedArgs": {"path": "b"}}, "Gone."])
def test_decision_that_the_interrupt_does_not_allow_is_rejected(
    agui: AGUIFrontend, chat_id: str, payload: Any
) -> None:
    page = agui.open(chat_id)
    asked = page.say(ASKS)
    page.begin(resume=resume(asked, payload))
    refused = page.settle()
    assert refused.failure is not None
    assert "expected approved or denied or cancelled" in str(refused.failure)
    assert agui.stored(chat_id)["activeRun"]["status"] == "waiting"


def test_a_question_is_answered_in_words(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    asked = page.say(prompt(["ask", "colour", "Which?"], text(" Good.")))
    report = page.run(resume=resume(asked, "red"))
    assert report.text == "answered: red Good."
    assert_told_again(report, agui, chat_id)


def test_unrelated_message_does_not_answer_a_request(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    asked = page.say(ASKS)
    page.begin(prompt(["history"]), resume=resume(asked, status="cancelled"))
    report = page.settle()
    assert (report.failure, report.outcome) == (None, "success")
    assert report.text == "user assistant"
    stored = agui.stored(chat_id)["messages"]
    assert stored[1]["metadata"]["reason"] == "cancelled"


# The page's own tools


def calls_of(report: Report) -> list[str]:
    calls = [call for each in report.messages for call in each.get("toolCalls", ())]
    return [call["id"] for call in calls]


def test_a_tool_of_the_page_is_run_by_the_page(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    said = prompt(text("Well."), ["page", "call_1", "locate", {"fast": True}], text(" Thanks."))
    asked = page.say(said, tools=[LOCATE])
    assert (asked.failure, asked.warnings) == (None, [])
    (call,) = calls_of(asked)
    if agui.client == NEWEST:
        assert asked.ending["outcome"] == {"type": "success", "pendingToolCallIds": [call]}
    assert agui.stored(chat_id)["activeRun"]["status"] == "waiting"
    page.give(call, '{"lat": 47}')
    report = page.run(tools=[LOCATE])
    assert_told_again(report, agui, chat_id)
    assert report.text == "answered: {'lat': 47} Thanks."
    assert report.roles.count("tool") == 1
    assert report.outcome == "success"


def test_a_message_instead_of_a_result_and_with_one(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    page.say(prompt(["page", "call_1", "locate", {}]), tools=[LOCATE])
    asked = page.say(prompt(["page", "call_2", "locate", {}]), tools=[LOCATE])
    page.give(calls_of(asked)[-1], "here")
    report = page.say(prompt(["history"]))
    assert report.text == "user assistant user assistant"
    results = {
        each["toolCallId"]: each for each in told_again(agui, chat_id) if each["role"] == "tool"
    }
    assert [each["content"] for each in results.values()][-1] == "here"
    assert len(results) == 2


def patch(operation: str, path: str, value: Any = None) -> Any:
    change = {"op": operation, "path": path, "value": value}
    return emit("state", mode="patch", value=[change])


def test_the_agent_changes_the_state_that_the_page_has(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id, state={"count": 1, "name": "a"})
    report = page.say(prompt(patch("replace", "/count", 2), ["page", "c1", "f", {}], text("Hi")))
    assert (report.warnings, report.state) == ([], {"count": 2, "name": "a"})
    page.give(calls_of(report)[0], "1")
    page.change({"count": 5, "name": "b"})
    report = page.run()
    assert (report.warnings, report.state) == ([], {"count": 5, "name": "b"})
    report = page.say(prompt(patch("add", "/more", True)))
    assert (report.warnings, report.state) == ([], {"count": 5, "name": "b", "more": True})


def test_the_agent_knows_what_the_page_brings_along(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id, state={"count": 1})
    report = page.say(
        prompt(["told"]),
        tools=[LOCATE],
        context=[{"description": "the page", "value": "/maps"}],
        forwardedProps={"theme": "dark"},
    )
    assert json.loads(report.text) == {
        "tools": [LOCATE],
        "context": [{"description": "the page", "value": "/maps"}],
        "state": {"count": 1},
        "instructions": [],
        "properties": {"theme": "dark"},
        "body": {},
        "headers": {},
    }
