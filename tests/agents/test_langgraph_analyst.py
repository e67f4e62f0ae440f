"""The analyst in a real server: charts in the middle of its answers, and approval of exports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.agent_stage import (
    AGENTS,
    AgentStage,
    Clients,
    agent_stage,
    check_clients,
    of_type,
    open_requests,
)
from frameworks.stage import Chat, Json, wait_until
from mobox.capture.catalog import load_agent
from mobox.models.simulator import Fail, Script, Text, Tool

AGENT = "langgraph-analyst"
STARTERS = load_agent(AGENTS / AGENT).starters
CHART = '<<{"type": "chart", "tool_call_id": "call_chart"}>>'
BY_STORE = {"metric": "revenue", "by": "month", "split": "store"}
REPORT = {"filename": "revenue", "text": "# Revenue\n\nIt grows."}


SCRIPT = Script(
    {
        "chart": [
            [Text("I look."), Tool("analyse", BY_STORE, id="call_chart")],
            [Text("It grows:\n\n"), Text(CHART), Text("\n\nThe station was closed in March.")],
            [Text("In 2025.")],
        ],
        "wrong": [
            [Tool("analyse", {**BY_STORE, "metric": "profit"})],
            [Text("There are no costs in the data.")],
        ],
        "export": [
            [Tool("export_report", REPORT, id="call_export")],
            [Text("That is all.")],
        ],
        "both": [
            [
                Tool("analyse", BY_STORE, id="call_chart"),
                Tool("export_report", REPORT, id="call_export"),
            ],
            [Text("That is all.")],
        ],
        "two": [
            [
                Tool("export_report", {**REPORT, "filename": "one.md"}, id="call_1"),
                Tool("export_report", {**REPORT, "filename": "two.md"}, id="call_2"),
            ],
            [Text("That is all.")],
        ],
        "busy": [[Fail(503, times=1), Text("At last.")]],
        "lost": [
            [Text("I look."), Tool("analyse", BY_STORE, id="call_chart")],
            [Text("Half a "), Fail(500, "Gone")],
        ],
    }
)


@pytest.fixture(scope="module")
def stage(environments: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    """One server for all scenarios."""
    folder = tmp_path_factory.mktemp("analyst")
    with agent_stage(folder, environments, AGENT, script=SCRIPT) as stage:
        yield stage


def exported(chat: Chat) -> dict[str, str]:
    """The reports in the chat's folder, once the process has given it back."""
    wait_until((chat.folder / "langgraph.sqlite").exists)
    return {file.name: file.read_text() for file in chat.folder.glob("*.md")}


def result_of(events: list[Json], call: str) -> Json:
    (found,) = [event for event in of_type(events, "tool_result") if event["id"] == call]
    return found


def said_to_model(stage: AgentStage, marker: str) -> list[Json]:
    """The messages of the last request of a conversation, without the system's."""
    asked = [each["messages"][1:] for each in stage.provider.requests]
    messages: list[Json] = [each for each in asked if marker in each[0]["content"]][-1]
    return messages


def test_chart_is_in_the_middle_of_the_answer(stage: AgentStage) -> None:
    chat = stage.chat()
    events = chat.events(chat.send("[[chart]] How does revenue grow?").run)
    found = json.loads(result_of(events, "call_chart")["output"])
    assert found["placeholder"] == CHART
    assert found["title"] == "Revenue by month and store (EUR)"
    assert (found["x"][0], found["x"][-1], len(found["x"])) == ("2024-01", "2025-12", 24)
    lines = {line["name"]: line["values"] for line in found["series"]}
    assert {name: len(values) for name, values in lines.items()} == {
        "Harbour": 24,
        "Market": 24,
        "Station": 24,
    }
    assert min(lines["Station"]) in lines["Station"][14:16], "it was closed in spring 2025"
    assert chat.text.endswith(f"It grows:\n\n{CHART}\n\nThe station was closed in March.")
    chat.send("When was it?")
    assert chat.text == "In 2025."
    told = said_to_model(stage, "[[chart]]")
    roles = ["user", "assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in told] == roles


def test_chart_is_the_same_for_every_client(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[chart]] How does revenue grow?")
    assert "".join(shown.texts).count(CHART) == 1
    assert shown.done == ["analyse"]


def test_analysis_that_is_not_possible_is_told_to_the_model(stage: AgentStage) -> None:
    chat = stage.chat()
    events = chat.events(chat.send("[[wrong]] And the profit?").run)
    (found,) = of_type(events, "tool_result")
    assert found["status"] == "error"
    assert chat.text == "There are no costs in the data."


@pytest.mark.parametrize("prompt", ["[[export]] Export it.", "[[both]] Analyse and export it."])
@pytest.mark.parametrize("approved", [True, False])
def test_report_is_exported_only_if_it_is_approved(
    stage: AgentStage, prompt: str, approved: bool
) -> None:
    chat = stage.chat()
    first = chat.send(prompt)
    (request,) = open_requests(chat.events(first.run))
    assert (request["tool_call_id"], request["prompt"]) == ("call_export", "Export this report?")
    assert request["allowed"] == ["approve", "edit", "reject"]
    assert exported(chat) == {}
    chat.decide(approved, reason=None if approved else "Not yet.")
    events = chat.events(first.run)
    found = result_of(events, "call_export")
    files = [event["name"] for event in of_type(events, "file")]
    if approved:
        assert (found["output"], files) == ("Exported to revenue.md.", ["revenue.md"])
        assert exported(chat) == {"revenue.md": REPORT["text"]}
    else:
        assert (found["status"], files) == ("denied", [])
        assert "Not yet." in found["output"]
        assert exported(chat) == {}
    assert chat.text.endswith("That is all.")
    assert len(of_type(events, "tool_use_start")) == (2 if "both" in prompt else 1)


def test_two_reports_are_decided_each(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[two]] Export both.").run
    chat.decide(False, True)
    assert exported(chat) == {"two.md": REPORT["text"]}
    events = chat.events(run)
    assert [result_of(events, call).get("status", "ok") for call in ("call_1", "call_2")] == [
        "denied",
        "ok",
    ]


@pytest.mark.parametrize(
    ("filename", "name"),
    [("../other.md", "other.md"), ("sales 2.5", "sales 2.5.md"), ("/", "report.md")],
)
def test_report_can_be_changed_before_it_is_exported(
    stage: AgentStage, filename: str, name: str
) -> None:
    chat = stage.chat()
    run = chat.send("[[export]] Export it.").run
    (request,) = open_requests(chat.events(run))
    edited = {"filename": filename, "text": "# Other"}
    chat.answer(request["id"], decision="edited", value=edited)
    chat.until("over")
    assert exported(chat) == {name: "# Other"}, "in the folder of the chat"


@pytest.mark.parametrize("approved", [True, False])
def test_approval_is_the_same_for_every_client(
    stage: AgentStage, clients: Clients, approved: bool
) -> None:
    shown = check_clients(stage, clients, "[[export]] Export it.", approved)
    assert shown.texts == ["That is all."]
    assert shown.calls == ["export_report"]
    assert shown.done == (["export_report"] if approved else [])


def test_stopped_analysis_can_be_continued(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("Revenue by month and store"):  # the request after the analysis
        run = chat.begin("[[chart]] How does revenue grow?")
        wait_until(lambda: of_type(chat.events(run), "tool_result"))
        chat.stop()
    (done,) = of_type(chat.events(run), "done")
    assert done["reason"] == "cancelled"
    chat.send("Go on.")
    assert chat.text.endswith("The station was closed in March.")
    assert [each["role"] for each in said_to_model(stage, "[[chart]]")].count("tool") == 1


def test_error_before_an_answer_is_tried_again_by_the_sdk(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[busy]] Hello")
    assert (chat.text, chat.errors(reply.run)) == ("At last.", [])


def test_error_in_the_middle_of_an_answer_ends_the_run_once(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[lost]] How does revenue grow?")
    (error,) = chat.errors(reply.run)
    assert "Gone" in error["message"]
    events = chat.events(reply.run)
    assert "".join(each["delta"] for each in of_type(events, "text_delta")) == "I look.Half a "
    again = chat.events(chat.regenerate().run)
    assert len(of_type(again, "tool_use_start")) == len(of_type(again, "tool_result")) == 1
    roles = [each["role"] for each in said_to_model(stage, "[[lost]]")]
    assert roles == ["user", "assistant", "tool"], "the failed try is not repeated"


@pytest.mark.parametrize("starter", STARTERS)
def test_starter_is_answered_by_the_simulated_model(stage: AgentStage, starter: str) -> None:
    chat = stage.chat()
    run = chat.send(starter).run
    if "export" in starter:
        chat.decide(True)
        assert "## Findings\n\n- **Coffee**" in exported(chat)["report.md"]
    events = chat.events(run)
    (call,) = [event for event in of_type(events, "tool_use_start") if event["name"] == "analyse"]
    assert f'"tool_call_id": "{call["id"]}"}}>>\n\n- **' in chat.text
    assert not chat.errors(run)
