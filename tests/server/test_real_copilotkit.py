"""CopilotKit's real core with this server as its runtime: run, reload at any moment, stop."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from server.ag_ui_clients import COPILOTKIT, AGUIFrontend, AGUIPages, Report
from server.live_server import live_server, message
from server.scripted_agent import Gate, a_day_of_work, emit, pieces, prompt, text
from server.server_with_keys import bearer, give_key_at
from support.waiting import wait_until

pytestmark = pytest.mark.parametrize("agui", [COPILOTKIT], indirect=True)


def assert_reloaded(report: Report, agui: AGUIFrontend, thread_id: str) -> None:
    """A page that is loaded now shows the same."""
    assert report.failure is None
    again = agui.open(thread_id).connect()
    assert again.failure is None
    assert again.messages == report.messages
    assert again.state == report.state


def test_an_agent_is_run_and_found_again(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    report = page.say(prompt(*a_day_of_work()))
    assert set(report.agents or ()) == {"default", "scripted"}
    assert report.ending["type"] == "RUN_FINISHED"
    assert_reloaded(report, agui, chat_id)
    again = page.say(prompt(["history"]))
    assert again.text == "user assistant"


def test_the_state_is_there_after_a_reload(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id)
    page.say(prompt(emit("state", mode="snapshot", value={"count": 1})))
    change = {"op": "replace", "path": "/count", "value": 2}
    report = page.say(prompt(emit("state", mode="patch", value=[change]), text("Hi")))
    assert report.state == {"count": 2}
    assert_reloaded(report, agui, chat_id)
    assert_reloaded(page.say(prompt(text("Hi"))), agui, chat_id)


def test_failed_run_is_shown_as_failed_again(agui: AGUIFrontend, chat_id: str) -> None:
    report = agui.open(chat_id).say(prompt(text("Half a"), ["exit", 3]))
    again = agui.open(chat_id).connect()
    assert again.messages == report.messages
    assert again.ending["type"] == report.ending["type"] == "RUN_ERROR"


def test_default_agent_is_used_without_a_name(agui: AGUIFrontend, chat_id: str) -> None:
    report = agui.open(chat_id, agent="default").say(prompt(text("Hello")))
    assert (report.failure, report.text) == (None, "Hello")


def test_a_new_thread_is_connected_to_without_a_word(agui: AGUIFrontend, chat_id: str) -> None:
    report = agui.open(chat_id).connect()
    assert (report.failure, report.messages, report.events) == (None, [], [])


@pytest.mark.parametrize("words", [1, 2, 3])
def test_a_page_that_is_loaded_in_the_middle_goes_on(
    agui: AGUIFrontend, chat_id: str, gate: Gate, words: int
) -> None:
    """Between the words of a text, in a thought, in the input of a call."""
    told = [
        *pieces("thinking", "thought", ["so", "it", "is"]),
        emit("tool_use_start", id="call_1", name="look"),
        emit("tool_use_delta", id="call_1", delta='{"at":'),
        emit("tool_use_delta", id="call_1", delta=' "it"}'),
        emit("tool_use_end", id="call_1"),
        emit("tool_result", tool_use_id="call_1", content="seen"),
        *pieces("text", "answer", ["that", "is", "all"]),
    ]
    cut = {1: 1, 2: 6, 3: 10}[words]
    page = agui.open(chat_id)
    page.begin(prompt(*told[:cut], gate.step, *told[cut:]))
    gate.wait()
    second = agui.open(chat_id)
    second.begin(call="connect")
    second.read(2)
    gate.open()
    report = page.settle()
    late = second.settle()
    assert late.failure is None
    assert late.messages == report.messages
    assert report.text == "that is all "
    assert_reloaded(report, agui, chat_id)


def test_a_stop_ends_the_run(agui: AGUIFrontend, gate: Gate) -> None:
    chat_id = "Über/uns? a&b=1#c%2F/stop"
    page = agui.open(chat_id)
    page.begin(prompt(text("One"), gate.step, text("Two")))
    gate.wait()
    page.read(3)
    page.abort()
    report = page.settle()
    assert report.text == "One"
    assert_reloaded(report, agui, chat_id)
    assert agui.stored(chat_id)["messages"][-1]["metadata"]["reason"] == "cancelled"
    assert page.say(prompt(["history"])).text == "user assistant"


def test_a_page_that_was_loaded_again_stops_the_run(
    agui: AGUIFrontend, chat_id: str, gate: Gate
) -> None:
    agui.open(chat_id).begin(prompt(text("One"), gate.step, text("Two")))
    gate.wait()
    page = agui.open(chat_id)
    page.begin(call="connect")
    page.read(2)
    page.abort()
    report = page.settle()
    assert (report.failure, report.text) == (None, "One")
    assert agui.stored(chat_id)["activeRun"] is None


def test_the_page_runs_its_tools_and_the_agent_goes_on(agui: AGUIFrontend, chat_id: str) -> None:
    page = agui.open(chat_id, tools={"locate": {"lat": 47}})
    report = page.say(prompt(["page", "call_1", "locate", {}], text(" Thanks.")))
    assert report.text == "answered: {'lat': 47} Thanks."
    assert report.roles == ["user", "assistant", "tool", "assistant"]
    assert_reloaded(report, agui, chat_id)


def test_input_request_is_shown_again_after_a_reload(agui: AGUIFrontend, chat_id: str) -> None:
    asked = agui.open(chat_id).say(prompt(["page", "call_1", "choose", {}], text(" Thanks.")))
    assert asked.roles == ["user", "assistant"]  # a page without the tool, which is then closed
    page = agui.open(chat_id, tools={"choose": {"asksPeople": True, "choice": "red"}})
    page.begin(call="connect")
    page.read(2, "RUN_FINISHED")
    report = page.settle()
    assert report.text == "answered: {'asksPeople': True, 'choice': 'red'} Thanks."
    assert_reloaded(report, agui, chat_id)


def test_an_interrupt_outlives_the_page(agui: AGUIFrontend, chat_id: str) -> None:
    agui.open(chat_id).say(prompt(["ask", "colour", "Which?"], text(" Good.")))
    page = agui.open(chat_id)
    asked = page.connect()
    (interrupt,) = asked.interrupts
    assert interrupt["message"] == "Which?"
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": "red"}
    report = page.run(resume=[answer])
    assert report.text == "answered: red Good."
    assert_reloaded(report, agui, chat_id)


def test_a_thread_outlives_the_server(
    agui: AGUIFrontend, agui_pages: AGUIPages, chat_id: str, agents: Path, tmp_path: Path
) -> None:
    with live_server(tmp_path / "data", "--agents", agents) as before:
        first = AGUIFrontend(agui_pages, agui.http, before, COPILOTKIT)
        report = first.open(chat_id).say(prompt(*a_day_of_work(1)))
        before.signal(signal.SIGKILL)
        before.wait()
    with live_server(tmp_path / "data", "--agents", agents) as after:
        again = AGUIFrontend(agui_pages, agui.http, after, COPILOTKIT)
        assert_reloaded(report, again, chat_id)


def test_messages_of_another_page_are_shown(agui: AGUIFrontend, chat_id: str) -> None:
    said = message(chat_id, prompt(text("One")))
    agui.http.post(f"{agui.url}/api/chat", json=said).raise_for_status()
    page = agui.open(chat_id)
    assert page.connect().roles == ["user", "assistant"]
    assert page.say(prompt(["history"])).text == "user assistant"


# The single route

SINGLE = {"runtimeTransport": "single"}


def test_single_route_runs_connects_and_stops(agui: AGUIFrontend, chat_id: str, gate: Gate) -> None:
    page = agui.open(chat_id, options=SINGLE)
    assert set(page.settle().agents or ()) == {"default", "scripted"}
    assert page.say(prompt(text("One"))).text == "One"
    page.begin(prompt(text("Half a"), gate.step, text(" word")))
    gate.wait()
    page.read(2, "TEXT_MESSAGE_CONTENT")
    page.abort()
    wait_until(lambda: agui.stored(chat_id)["activeRun"] is None)
    page.settle()
    assert agui.stored(chat_id)["messages"][-1]["metadata"]["reason"] == "cancelled"
    again = agui.open(chat_id, options=SINGLE).connect()
    assert again.roles == ["user", "assistant"] * 2
    several = agui.open(chat_id).connect()
    assert again.messages == several.messages


@pytest.mark.parametrize("transport", ["auto", "rest", "single"])
def test_missing_key_is_reported_as_such(
    agui: AGUIFrontend, agui_pages: AGUIPages, tmp_path: Path, agents: Path, transport: str
) -> None:
    data = tmp_path / "data"
    options: dict[str, object] = {"runtimeTransport": transport}
    with live_server(data, "--agents", agents, "--auth", "keys") as server:
        there = AGUIFrontend(agui_pages, agui.http, server, COPILOTKIT)
        with pytest.raises(RuntimeError, match="failed with status 401"):
            there.open("c1", options=options)
        _, secret = asyncio.run(give_key_at(data, "ann"))
        page = there.open("c1", options={**options, "headers": bearer(secret)})
        assert page.say(prompt(text("Hello"))).text == "Hello"


def test_single_route_refuses_what_it_does_not_know(agui: AGUIFrontend, chat_id: str) -> None:
    for call, field in [
        ({}, "method"),
        ({"method": "agent/dance"}, "method"),
        ({"method": "agent/stop"}, "params.threadId"),
        ({"method": "agent/stop", "params": {"threadId": 7}}, "params.threadId"),
        ({"method": "agent/run", "body": []}, ""),
    ]:
        refused = agui.http.post(f"{agui.url}/api/copilotkit", json=call)
        error = refused.json()["error"]
        assert (refused.status_code, error["field"]) == (400, field), call


def test_single_route_needs_the_scope_of_its_method(
    agui: AGUIFrontend, tmp_path: Path, agents: Path
) -> None:
    data = tmp_path / "data"
    with live_server(data, "--agents", agents, "--auth", "keys") as server:
        _, secret = asyncio.run(give_key_at(data, "ann", scopes=("read",)))
        address, headers = f"{server.url}/api/copilotkit", bearer(secret)
        body = {"threadId": "c1", "runId": "r1", "messages": []}
        for method, status in [("info", 200), ("agent/connect", 200), ("agent/run", 403)]:
            called = agui.http.post(address, json={"method": method, "body": body}, headers=headers)
            assert called.status_code == status
