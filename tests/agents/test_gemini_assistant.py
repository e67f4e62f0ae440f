"""The agent gemini-assistant in a real server, by the real clients: on a script, and by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from agents.agent_stage import (
    AGENTS,
    AgentStage,
    Answer,
    Clients,
    agent_stage,
    check_clients,
    of_type,
)
from frameworks.stage import Chat, Json, wait_until
from mobox.models.simulator import Fail, Script, Text, Think, Tool

AGENT = "gemini-assistant"
STARTERS = yaml.safe_load((AGENTS / AGENT / "agent.yaml").read_text())["starters"]
OLD = "Old Wi-Fi password"
DAYS = Tool("days_between", {"start_date": "2026-12-24", "end_date": "2027-05-03"})
MILES = Tool("convert_units", {"value": 26.2, "from_unit": "miles", "to_unit": "kilometers"})
ASK = Tool("guide", {"request": "[[trip]] Oslo?"})

SCRIPT = Script(
    {
        "whole": [
            [Think("The guide knows."), Text("I ask."), ASK],
            [Text("Now the sums."), DAYS, MILES],
            [Tool("save_note", {"title": "Trip", "text": "Oslo in May."})],
            [Text("All done.")],
        ],
        "trip": [
            [Think("Look it up."), Text("I look."), Tool("search_cities", {"query": "Oslo"})],
            [Text("Take a jacket.")],
        ],
        "delete": [
            [Text("I delete."), Tool("delete_note", {"title": OLD})],
            [Text("That is all.")],
            [Text("Indeed.")],
        ],
        "notes": [
            [Tool("search_notes", {"query": "gifts"}), Tool("search_notes", {"query": "unicorn"})],
            [Text("A book.")],
        ],
        "wrong": [
            [Tool("days_between", {"start_date": "Christmas", "end_date": "2027-05-03"})],
            [Text("When?")],
        ],
        "talk": [[Text("One.")], [Text("Two.")]],
        "broken": [
            [Text("I count."), DAYS],
            [Text("It is "), Fail(503, "Not today.")],
        ],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def stage(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    folder = tmp_path_factory.mktemp(AGENT)
    with agent_stage(folder, frameworks, AGENT, script=SCRIPT) as stage:
        yield stage


def has_note(chat: Chat) -> bool:
    return (chat.folder / "notes" / "old-wi-fi-password.md").exists()


def results(events: list[Json]) -> dict[str, str]:
    """The last result of each tool, by its name."""
    names = {each["id"]: each["name"] for each in of_type(events, "tool_use_start")}
    return {names[each["id"]]: str(each["output"]) for each in of_type(events, "tool_result")}


# On a script


def test_whole_job_is_the_same_for_every_client(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[whole]] Plan my trip.")
    assert shown.done == ["convert_units", "days_between", "guide", "save_note", "search_cities"]
    assert shown.texts[-1] == "All done."


def test_guide_and_thoughts_are_shown_while_they_happen(stage: AgentStage) -> None:
    """The guide's own steps are in the log before its last request is answered."""
    chat = stage.chat()
    with stage.provider.holding("the Munch museum"):
        run = chat.begin("[[whole]] Plan my trip.")
        wait_until(lambda: any(scoped(chat.events(run), "tool_result")))
        events = chat.events(run)
        assert not of_type(events, "subagent_end")
    (start,) = of_type(events, "subagent_start")
    assert (start["agent"], start["task"]) == ("guide", "[[trip]] Oslo?")
    nested = scoped(events, "thinking", "text", "tool_use_end", "tool_result")
    assert [each["scope"] for each in nested] == [[start["id"]]] * 4
    assert nested[2]["input"] == {"query": "Oslo"}
    chat.until("over")
    events = chat.events(run)
    told = results(events)
    assert "Take a jacket." in told["guide"]
    assert "130 days, from a Thursday to a Monday" in told["days_between"]
    assert "26.2 miles = 42.16 kilometers" in told["convert_units"]
    assert thoughts(events) == "The guide knows.Look it up."
    assert (chat.folder / "notes" / "trip.md").read_text() == "# Trip\n\nOslo in May.\n"


def scoped(events: list[Json], *types: str) -> list[Json]:
    """The events of subagents."""
    return [event for event in of_type(events, *types) if event.get("scope")]


def thoughts(events: list[Json]) -> str:
    pieces = of_type(events, "thinking", "thinking_delta")
    return "".join(each.get("content") or each.get("delta") or "" for each in pieces)


def test_approved_note_is_deleted_and_the_next_turn_knows_it(stage: AgentStage) -> None:
    chat = stage.chat()
    chat.send("[[delete]] Go.")
    assert [each.input for each in chat.pending] == [{"title": OLD}]
    assert not chat.folder.joinpath("notes").exists() or has_note(chat)
    chat.decide(True)
    assert not has_note(chat)
    chat.send("Sure?")
    assert chat.text == "Indeed."
    seen = json.dumps(stage.provider.requests[-1]["contents"], ensure_ascii=False)
    assert "[[delete]] Go." in seen
    assert f"Deleted the note “{OLD}”." in seen
    assert "That is all." in seen


def test_denied_note_is_kept_and_the_model_gets_the_reason(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[delete]] Go.").run
    chat.decide(False, reason="It is the last one.")
    assert chat.text.endswith("That is all.")
    assert not chat.folder.joinpath("notes").exists() or has_note(chat)
    (result,) = of_type(chat.events(run), "tool_result")
    assert result["status"] == "denied"
    assert "It is the last one." in json.dumps(stage.provider.requests[-1]["contents"])


def test_notes_are_found_by_their_words(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[notes]] What does Anna want?").run
    outputs = [str(each["output"]) for each in of_type(chat.events(run), "tool_result")]
    assert "a book about bees" in outputs[0]
    assert OLD not in outputs[0]
    assert "There is no such note." in outputs[1]


def test_wrong_date_is_told_to_the_model(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[wrong]] How long until May?").run
    assert chat.errors(run) == []
    assert "Invalid isoformat string" in results(chat.events(run))["days_between"]
    assert chat.text == "When?"


def test_stopped_chat_can_be_continued(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("[[talk]] Stop this."):
        chat.begin("[[talk]] Stop this.")
        wait_until(lambda: "[[talk]] Stop this." in json.dumps(stage.provider.requests))
        chat.stop()
    chat.send("Go on.")
    assert chat.text == "One."
    assert "[[talk]] Stop this." in json.dumps(stage.provider.requests[-1]["contents"])


def test_error_of_the_provider_doubles_nothing(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[broken]] How many days?")
    (error,) = chat.errors(reply.run)
    assert (error["code"], error["message"]) == ("overloaded", "Not today.")
    assert reply.text == "I count.It is "
    assert len(of_type(chat.events(reply.run), "tool_use_start")) == 1
    assert [part["text"] for part in chat.messages[-1]["parts"] if part["type"] == "text"] == [
        "I count.", "It is ",
    ]  # fmt: skip


def test_answer_goes_on_after_the_server_was_killed(stage: AgentStage) -> None:
    chat = stage.chat()
    chat.send("[[delete]] Go.")
    stage.restart()
    chat.decide(True)
    chat.until("over")
    assert not has_note(chat)
    assert chat.text.endswith("That is all.")


# On the simulated model

DONE: list[tuple[tuple[Answer, ...], list[str]]] = [
    ((), ["guide", "search_cities"]),
    ((), ["days_between"]),
    ((), ["convert_units", "save_note"]),
    ((True,), ["delete_note"]),
]


@pytest.mark.parametrize("number", range(len(STARTERS)))
def test_starter(stage: AgentStage, clients: Clients, number: int) -> None:
    answers, done = DONE[number]
    shown = check_clients(stage, clients, STARTERS[number], *answers)
    assert shown.done == done
    assert "simulated model" in shown.texts[-1]


def test_starter_without_a_key(frameworks: Path, tmp_path: Path) -> None:
    with agent_stage(tmp_path, frameworks, AGENT, keys=False) as stage:
        (agent,) = stage.client.get("/api/agents").json()["agents"]
        assert (agent["model"], agent["starters"]) == ("simulated", STARTERS)
        chat = stage.chat()
        run = chat.send(STARTERS[-1]).run
        assert [each.input for each in chat.pending] == [{"title": OLD}]
        chat.decide(True)
        (start,) = of_type(chat.events(run), "start")
        assert start["simulated"] is True
        assert thoughts(chat.events(run)).startswith("The request is about")
        assert not has_note(chat)
