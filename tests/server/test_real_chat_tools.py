"""Tools that the page runs, with the real AI SDK clients and the code of their guide."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.chat_clients import Frontend, Json, on_wire
from server.live_server import live_server
from server.scripted_agent import Step, emit, prompt, text
from server.socket_clients import SocketClients

COMPLETE = "IsCompleteWithToolCalls"  # what the client brings to decide when to send
LOCATE: Step = ["page", "call_1", "locate", {"fast": True}]
PLACE = {"lat": 47}
OWN = [
    emit("tool_use", id="call_0", name="look", input={}),
    emit("tool_result", tool_use_id="call_0", content="seen"),
]

each_client = pytest.mark.parametrize("frontend", ["ai-v5 v5", "ai-v6 v6", "ai v7"], indirect=True)


def tools_of(message: Json) -> list[Json]:
    return [part for part in message["parts"] if "toolCallId" in part]


@each_client
def test_page_runs_its_tool_and_the_agent_continues(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id, auto=COMPLETE, tools={"locate": PLACE, "look": "never"})
    report = page.send(prompt(*OWN, LOCATE, text(" Thanks.")))
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    own, located = tools_of(report.messages[-1])
    assert (own["type"], own["output"]) == ("dynamic-tool", "seen")
    assert (located["type"], located["toolCallId"]) == (
        "tool-locate",
        on_wire(report.messages[-1], "call_1"),
    )
    assert (located["state"], located["output"]) == ("output-available", PLACE)
    words = [part["text"] for part in report.messages[-1]["parts"] if part["type"] == "text"]
    assert "".join(words) == "answered: {'lat': 47} Thanks."
    assert [request["method"] for request in report.requests] == ["POST", "POST"]
    assert report.messages == frontend.stored(chat_id)["messages"]
    reloaded = frontend.reload(chat_id).resume()
    assert (reloaded.messages, reloaded.invalid) == (report.messages, None)


@each_client
def test_same_call_id_in_two_runs_of_a_chat_is_answered_in_each(
    frontend: Frontend, chat_id: str
) -> None:
    page = frontend.open(chat_id, auto=COMPLETE, tools={"locate": PLACE})
    page.send(prompt(LOCATE))
    report = page.send(prompt(LOCATE))
    assert (report.status, report.error, len(report.requests)) == ("ready", None, 4)
    answers = [message for message in report.messages if message["role"] == "assistant"]
    calls = [tools_of(message)[0] for message in answers]
    assert [call["output"] for call in calls] == [PLACE, PLACE]
    assert len({call["toolCallId"] for call in calls}) == 2


def is_tool(chunk: Json | str) -> bool:
    return isinstance(chunk, dict) and chunk["type"].startswith("tool-")


def is_dynamic(chunk: Json) -> bool:
    return "dynamic" in chunk


TYPES = {"all": ["tool-look", "tool-locate"], "none": ["dynamic-tool", "dynamic-tool"]}


@pytest.mark.parametrize("static_tools", TYPES)
@pytest.mark.parametrize("frontend", ["ai v7"], indirect=True)
def test_setting_decides_which_tools_are_static(
    frontend: Frontend,
    sockets: SocketClients,
    chat_id: str,
    agents: Path,
    tmp_path: Path,
    static_tools: str,
) -> None:
    with live_server(
        tmp_path / "data", "--agents", agents, "--static-tools", static_tools
    ) as server:
        there = frontend.at(server)
        page = there.open(chat_id)
        asked = page.send(prompt(*OWN, LOCATE, text("Bye.")))
        assert [part["type"] for part in tools_of(asked.messages[-1])] == TYPES[static_tools]
        assert there.reload(chat_id).resume().messages == asked.messages
        socket = sockets.open(server)
        socket.join(chat_id, format="ai-sdk", profile="v7")
        dynamic = [is_dynamic(frame["data"]) for frame in socket.frames() if is_tool(frame["data"])]
        assert set(dynamic) == {static_tools == "none"}
        call = on_wire(asked.messages[-1], "call_1")
        page.begin("addToolOutput", {"tool": "locate", "toolCallId": call, "output": PLACE})
        page.settle()
        page.begin("sendMessage")
        report = page.settle()
        assert (report.status, report.error) == ("ready", None)
        assert report.messages == there.stored(chat_id)["messages"]
        run = report.messages[-1]["id"]
        read = there.get(f"/api/runs/{run}/events", format="ai-sdk", live="off").text
        assert ('"dynamic":true' in read) is (static_tools == "none")
