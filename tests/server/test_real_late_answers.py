"""Two pages answer the same request: the second gets the decision that counted, and no error."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from server.ag_ui_clients import COPILOTKIT, NEWEST, OLDER, AGUIFrontend
from server.chat_clients import Frontend, Report
from server.live_server import LiveServer
from server.scripted_agent import Gate, Step, emit, prompt, text
from server.socket_clients import SocketClients
from server.test_real_chat_answers import ASKS, BEFORE, LEAVES, OFFICIAL, REQUEST, tool_of

Json = dict[str, Any]

ASKING = pytest.mark.parametrize("asking", [ASKS, LEAVES], ids=["agent waits", "agent has left"])
EACH_MAJOR = pytest.mark.parametrize("frontend", ["ai-v6 v6", "ai v7"], indirect=True)


def words(report: Report) -> str:
    parts = report.messages[-1]["parts"]
    return "".join(part["text"] for part in parts if part["type"] == "text")


def assert_deleted(report: Report) -> None:
    """It shows what followed from the approval, once."""
    assert (report.status, report.error) == ("ready", None)
    assert len(report.messages) == 2
    assert tool_of(report.messages[-1])["state"] == "output-available"
    assert words(report).startswith("I would delete it.It is gone.")
    assert words(report).count("It is gone.") == 1


@EACH_MAJOR
@ASKING
def test_second_page_gets_the_decision_of_the_first(
    frontend: Frontend, chat_id: str, asking: str
) -> None:
    first = frontend.open(chat_id, auto=OFFICIAL)
    asked = first.send(asking)
    second = frontend.open(chat_id, auto=OFFICIAL, messages=asked.messages)
    assert_deleted(first.answer(REQUEST, True))
    late = second.answer(REQUEST, False)
    assert_deleted(late)
    assert late.requests[-1]["status"] == 200
    if frontend.profile == "v7":
        assert tool_of(late.messages[-1])["approval"]["approved"] is True
        assert late.messages == frontend.stored(chat_id)["messages"]


@EACH_MAJOR
def test_second_page_reads_on_while_the_run_goes_on(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    done: list[Step] = [emit("tool_result", tool_use_id="call_1", content="deleted"), gate.step]
    approval: Step = ["approve", "call_1", [*done, text("It is gone.")], []]
    first = frontend.open(chat_id, auto=OFFICIAL)
    asked = first.send(prompt(*BEFORE, approval))
    second = frontend.open(chat_id, auto=OFFICIAL, messages=asked.messages)
    first.begin("addToolApprovalResponse", {"id": REQUEST, "approved": True})
    gate.wait()
    second.begin("addToolApprovalResponse", {"id": REQUEST, "approved": False})
    second.read(2)
    gate.open()
    assert_deleted(first.settle())
    assert_deleted(second.settle())


@EACH_MAJOR
def test_page_that_lost_the_response_sends_its_answer_again(
    frontend: Frontend, chat_id: str
) -> None:
    asked = frontend.open(chat_id).send(ASKS)
    for _ in range(2):
        page = frontend.open(chat_id, auto=OFFICIAL, messages=asked.messages)
        assert_deleted(page.answer(REQUEST, True))


@EACH_MAJOR
@ASKING
def test_answer_to_a_stopped_run_shows_its_end(
    frontend: Frontend, chat_id: str, asking: str
) -> None:
    page = frontend.open(chat_id, auto=OFFICIAL)
    page.send(asking)
    assert frontend.post(chat_id, "stop").is_success
    report = page.answer(REQUEST, True)
    assert (report.status, report.error) == ("ready", None)
    assert report.messages[-1]["metadata"]["reason"] == "cancelled"
    assert tool_of(report.messages[-1])["state"] == "output-error"


@EACH_MAJOR
def test_only_the_open_one_of_two_answers_counts(frontend: Frontend, chat_id: str) -> None:
    calls = [emit("tool_use", id=each, name="look", input={}) for each in ("call_1", "call_2")]
    asks = [
        emit("input_request", id=f"may_{each}", kind="approval", tool_call_id=each)
        for each in ("call_1", "call_2")
    ]
    paused = emit("paused", request_ids=["may_call_1", "may_call_2"], resume=[text("Done.")])
    page = frontend.open(chat_id, auto=OFFICIAL)
    asked = page.send(prompt(*calls, *asks, paused, ["exit", 0]))
    other = frontend.open(chat_id, auto=OFFICIAL, messages=asked.messages)
    told = frontend.post(chat_id, "answer", requestId="may_call_1", decision="denied")
    assert told.status_code == 202
    other.answer("may_call_1", True)
    report = other.answer("may_call_2", True)
    assert (report.status, report.error, words(report)) == ("ready", None, "Done.")
    late = frontend.post(chat_id, "answer", requestId="may_call_2", decision="denied")
    assert late.json()["decision"] == "approved"
    late = frontend.post(chat_id, "answer", requestId="may_call_1", decision="approved")
    assert late.json()["decision"] == "denied"


# Beside the chat


@pytest.mark.parametrize("frontend", ["ai v7"], indirect=True)
def test_late_answer_beside_the_chat_gets_the_one_that_counted(
    frontend: Frontend, chat_id: str, sockets: SocketClients, server: LiveServer
) -> None:
    asked = frontend.open(chat_id).send(prompt(["ask", "colour", "Which?"], text(" Good.")))
    run_id = asked.messages[-1]["id"]
    assert frontend.post(chat_id, "answer", requestId="colour", value="red").status_code == 202
    frontend.reload(chat_id, run=run_id).resume()
    expected = {
        "runId": run_id,
        "status": "done",
        "late": True,
        "decision": "answered",
        "value": "red",
    }
    for named in ({}, {"runId": run_id}):
        late = frontend.post(chat_id, "answer", requestId="colour", value="blue", **named)
        assert (late.status_code, late.json()) == (200, expected)
    socket = sockets.open(server)
    answer = {"sessionId": chat_id, "requestId": "colour", "value": "blue"}
    assert socket.ask("chat:answer", answer) == expected
    unknown = frontend.post(chat_id, "answer", requestId="colours")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (409, "not_waiting")


# AG-UI


@pytest.mark.parametrize("agui", [NEWEST, OLDER, COPILOTKIT], indirect=True)
def test_late_interrupt_of_ag_ui_gets_the_answer_that_counted(
    agui: AGUIFrontend, chat_id: str
) -> None:
    agui.open(chat_id).say(prompt(["ask", "colour", "Which?"], text(" Good.")))
    stored = f"{agui.url}/api/chats/{chat_id}"
    run_id = agui.http.get(stored).json()["activeRun"]["id"]
    pages = [agui.open(chat_id) for _ in range(2)]
    if agui.client == COPILOTKIT:
        for page in pages:
            page.connect()
    reports = [
        page.run(
            resume=[{"interruptId": f"{run_id}:colour", "status": "resolved", "payload": colour}]
        )
        for page, colour in zip(pages, ("red", "blue"), strict=True)
    ]
    for report in reports:
        assert report.failure is None
        assert report.text.endswith("answered: red Good.")


def frames(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return response.text


def test_late_result_of_a_tool_of_the_page(
    server: LiveServer, http: httpx.Client, chat_id: str
) -> None:
    said = {"id": "m1", "role": "user", "content": prompt(["page", "c1", "f", {}], text("Bye"))}
    body: Json = {"threadId": chat_id, "runId": "r1", "messages": [said], "protocolVersion": "1.0"}
    address = f"{server.url}/api/agui/agents/scripted"
    once = frames(http.post(address, json=body))
    run_id = http.get(f"{server.url}/api/chats/{chat_id}").json()["activeRun"]["id"]
    assert run_id in once
    result = {"id": "t1", "role": "tool", "toolCallId": f"{run_id}:c1", "content": "1"}
    first = frames(http.post(address, json={**body, "runId": "r2", "messages": [said, result]}))
    assert '"delta":"answered: 1"' in first
    late = {**body, "runId": "r3", "messages": [said, {**result, "content": "2"}]}
    second = frames(http.post(address, json=late))
    assert second == first.replace('"r2"', '"r3"')
    assert frames(http.post(address, json=late)) == second, "the same request again"
    answered = {"id": "a1", "role": "assistant", "content": "Bye"}
    read = http.post(address, json={**late, "runId": "r4", "messages": [said, result, answered]})
    assert read.json()["error"]["code"] == "not_waiting", "the page has read what followed"
