"""Chats of the real AI SDK clients: what is read live is what is stored, whatever people do."""

from __future__ import annotations

import pytest

from server.chat_clients import Frontend, Json, Report
from server.scripted_agent import Gate, a_day_of_work, prompt, text, tool
from support.waiting import wait_until

V5 = pytest.mark.parametrize("frontend", ["ai-v6 v6", "ai v6", "ai v7", "ai-v5 v5"], indirect=True)


def assert_stored(report: Report, frontend: Frontend, chat_id: str) -> None:
    """A page that is reloaded now shows the same."""
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert all(request.get("rest", "") == "" for request in report.requests)
    assert frontend.stored(chat_id)["messages"] == report.messages
    assert frontend.stored(chat_id)["activeRun"] is None


def answer_of(message: Json) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


# Sending


@V5
def test_stored_message_equals_what_was_read(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    assert_stored(page.send(prompt(*a_day_of_work())), frontend, chat_id)
    report = page.send(prompt(["history"]))
    assert_stored(report, frontend, chat_id)
    assert answer_of(report.messages[-1]) == "user assistant"


@V5
def test_a_reloaded_page_goes_on_with_the_chat(frontend: Frontend, chat_id: str) -> None:
    frontend.open(chat_id).send(prompt(text("One")))
    page = frontend.reload(chat_id)
    assert_stored(page.resume(), frontend, chat_id)
    report = page.send(prompt(["history"]))
    assert_stored(report, frontend, chat_id)
    assert [message["role"] for message in report.messages] == ["user", "assistant"] * 2


@V5
def test_failing_agent_shows_an_error_in_the_page(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    report = page.send(prompt(text("Half a"), ["exit", 3]))
    assert report.status == "error"
    assert report.error
    stored = frontend.stored(chat_id)["messages"]
    assert report.messages == stored
    assert stored[-1]["metadata"]["reason"] == "error"
    assert_stored(page.send(prompt(text("Better"))), frontend, chat_id)


def test_a_chat_may_have_any_name(frontend: Frontend) -> None:
    chat_id = f"Über/uns? {frontend.client}&run=1#{frontend.profile}%2F"
    page = frontend.open(chat_id)
    assert_stored(page.send(prompt(text("Hello"))), frontend, chat_id)
    assert_stored(frontend.reload(chat_id).resume(), frontend, chat_id)


# Stopping


def test_a_stopped_message_ends_where_it_was(frontend: Frontend, chat_id: str, gate: Gate) -> None:
    page = frontend.open(chat_id)
    said = prompt(*tool("call_1", "look", {"at": "it"}), text("One"), gate.step, text("Two"))
    page.begin("sendMessage", {"text": said})
    gate.wait()
    stopped = frontend.post(chat_id, "stop")
    assert stopped.status_code == 202
    report = page.settle()
    assert_stored(report, frontend, chat_id)
    run = report.messages[-1]["id"]
    assert stopped.json()["runId"] == run
    assert answer_of(report.messages[-1]) == "One"
    assert report.messages[-1]["metadata"]["reason"] == "cancelled"
    assert '"type":"abort"' in frontend.stream(chat_id, run=run).text
    assert_stored(page.resume(), frontend, chat_id)
    assert_stored(page.send(prompt(text("Next"))), frontend, chat_id)


@V5
def test_a_page_that_stops_can_send_at_once(frontend: Frontend, chat_id: str, gate: Gate) -> None:
    page = frontend.open(chat_id)
    page.begin("sendMessage", {"text": prompt(text("One"), gate.step, text("Two"))})
    gate.wait()
    page.begin("stop")
    assert page.settle().status == "ready"
    assert frontend.post(chat_id, "stop").status_code == 202
    report = page.send(prompt(["history"]))
    assert (report.status, report.error) == ("ready", None)
    assert answer_of(report.messages[-1]) == "user assistant"
    assert_stored(frontend.reload(chat_id).resume(), frontend, chat_id)


@V5
def test_the_stop_button_of_the_guide_stops_the_agent(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    page = frontend.open(chat_id)
    page.begin("sendMessage", {"text": prompt(text("One"), gate.step, text("Two"))})
    gate.wait()
    active = frontend.stored(chat_id)["activeRun"]["id"]
    page.begin("stop")
    shown = page.settle().messages[-1]
    body = {"assistantMessage": shown, "activeStreamId": active}
    assert frontend.post(chat_id, "stop", **body).json()["runId"] == active
    wait_until(lambda: frontend.stored(chat_id)["activeRun"] is None)
    report = frontend.reload(chat_id).resume()
    assert_stored(report, frontend, chat_id)
    assert report.messages[-1]["metadata"]["reason"] == "cancelled"
    assert answer_of(report.messages[-1]) == "One"
    assert frontend.post(chat_id, "stop", **body).json()["runId"] is None


def test_a_late_stop_does_not_stop_the_next_run(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    page = frontend.open(chat_id)
    first = page.send(prompt(text("One"))).messages[-1]["id"]
    page.begin("sendMessage", {"text": prompt(text("Two"), gate.step, text(" and more"))})
    gate.wait()
    assert frontend.post(chat_id, "stop", runId=first).json() == {"runId": first, "status": "done"}
    gate.open()
    report = page.settle()
    assert_stored(report, frontend, chat_id)
    assert answer_of(report.messages[-1]) == "Two and more"


def test_stop_without_a_run_does_nothing(frontend: Frontend, chat_id: str) -> None:
    frontend.open(chat_id).send(prompt(text("One")))
    stopped = frontend.post(chat_id, "stop")
    assert stopped.is_success
    assert stopped.json()["runId"] is None
    assert frontend.post("no such chat", "stop").status_code == 404


# Another try


def test_another_try_replaces_the_answer(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    page.send(prompt(text("One")))
    before = page.send(prompt(text("Two"), ["history"])).messages
    report = page.regenerate()
    assert_stored(report, frontend, chat_id)
    assert report.messages[:3] == before[:3]
    assert report.messages[3]["id"] != before[3]["id"]
    assert answer_of(report.messages[3]) == "Twouser assistant"
    assert before[3]["id"] in frontend.stream(chat_id, run=before[3]["id"]).text
    first = page.regenerate(messageId=before[1]["id"])
    assert_stored(first, frontend, chat_id)
    assert len(first.messages) == 2


def test_an_edit_replaces_the_message_and_what_follows(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id)
    first = page.send(prompt(text("One"))).messages[0]["id"]
    page.send(prompt(text("Two")))
    report = page.edit(first, prompt(text("Three"), ["history"]))
    assert_stored(report, frontend, chat_id)
    assert report.messages[0]["id"] == first
    assert [answer_of(message) for message in report.messages[1:]] == ["Three"]


# Two pages


def test_second_page_gets_the_id_of_the_active_run(
    frontend: Frontend, chat_id: str, gate: Gate
) -> None:
    page = frontend.open(chat_id)
    page.begin("sendMessage", {"text": prompt(text("One"), gate.step, text(" two"))})
    gate.wait()
    second = frontend.reload(chat_id)
    refused = second.send(prompt(text("Me too")))
    run = frontend.stored(chat_id)["activeRun"]["id"]
    assert refused.status == "error"
    assert [request["status"] for request in refused.requests] == [409]
    assert refused.requests[-1]["run"] == run
    assert len(frontend.stored(chat_id)["messages"]) == 1
    third = frontend.reload(chat_id)
    third.begin("resumeStream")
    third.read(1)
    gate.open()
    report = page.settle()
    assert_stored(report, frontend, chat_id)
    assert third.settle().messages == report.messages
    assert frontend.reload(chat_id).resume().messages == report.messages
