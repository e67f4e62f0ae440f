"""The agent smolagents-coder in a real server, by the real clients: on a script, and by itself."""

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
from mobox.models.simulator import Fail, Script, Step, Text, Tool

AGENT = "smolagents-coder"
STARTERS = yaml.safe_load((AGENTS / AGENT / "agent.yaml").read_text())["starters"]


def code(thought: str, *lines: str) -> list[Step]:
    return [Text("\n".join([f"Thought: {thought}", "<code>", *lines, "</code>"]))]


END = code("That was it.", "final_answer('That is all.')")
ASK = "print(data_reader(task='[[reader]] The rain in Lisbon?'))"
SAVE = "save_file(path='a.md', content='A')"
SCRIPT = Script(
    {
        "whole": [
            code("I add.", "import statistics", "mean = statistics.mean([1, 2, 6])", "print(mean)"),
            code("I ask.", ASK),
            code("I save.", f"print({SAVE})", "print(list_files())"),
            END,
        ],
        "reader": [
            [Text("I look."), Tool("search_data", {"query": "Lisbon July"})],
            [Tool("final_answer", {"answer": "4 mm in July."})],
        ],
        "save": [
            code("I save.", SAVE, "print('after')"),
            END,
            code("Yes.", "final_answer('Yes.')"),
        ],
        "files": [
            code("I save.", SAVE),
            code("I delete.", "delete_file('a.md')", "print(list_files())"),
            END,
        ],
        "outside": [code("I look.", "import os", "print(os.listdir('/'))"), END],
        "talk": [code("Now.", "final_answer('One.')"), code("Now.", "final_answer('Two.')")],
        "broken": [
            code("I add.", "print(1 + 1)"),
            [Text("Thought: And "), Fail(400, "Not today.")],
        ],
        "busy": [[Fail(429, "Slow down.")]],
    }
)


@pytest.fixture(scope="module")
def stage(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    folder = tmp_path_factory.mktemp(AGENT)
    with agent_stage(folder, frameworks, AGENT, script=SCRIPT) as stage:
        yield stage


def saved(chat: Chat) -> dict[str, str]:
    """The files of a chat."""
    return {file.name: file.read_text() for file in (chat.folder / "files").glob("*")}


def results(events: list[Json]) -> dict[str, tuple[str, str]]:
    """The output and the status of each call, by its id."""
    found = of_type(events, "tool_result")
    return {each["id"]: (str(each.get("output")), each.get("status", "ok")) for each in found}


def told(stage: AgentStage) -> str:
    """What the model was told by the last request."""
    return json.dumps(stage.provider.requests[-1]["messages"])


# On a script


def test_whole_job_is_the_same_for_every_client(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[whole]] Go.", True)
    assert shown.done == [
        *("data_reader", "final_answer", "list_files"),
        *["python_interpreter"] * 4,
        *("save_file", "search_data"),
    ]
    assert shown.texts[-1] == "That is all."


def test_managed_agent_is_shown_while_it_works(stage: AgentStage) -> None:
    """Its steps are in the log before its last request is answered."""
    chat = stage.chat()
    with stage.provider.holding("Lisbon,July,23.1,4"):
        run = chat.begin("[[whole]] Go.")
        wait_until(lambda: "call_2.1/" in json.dumps(results(chat.events(run))))
        events = chat.events(run)
        assert not of_type(events, "subagent_end")
    (start,) = of_type(events, "subagent_start")
    task = "[[reader]] The rain in Lisbon?"
    assert (start["id"], start["agent"], start["task"]) == ("call_2.1", "data_reader", task)
    nested = [each for each in of_type(events, "tool_use_start") if each.get("scope")]
    assert [(each["name"], each["scope"]) for each in nested] == [("search_data", ["call_2.1"])]
    chat.decide(True)
    (end,) = of_type(chat.events(run), "subagent_end")
    assert end["summary"] == "4 mm in July."


def test_code_is_in_the_web_ide_and_logs_are_in_the_terminal(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[whole]] Go.").run
    chat.decide(True)
    messages = panes(stage, run)
    assert messages["webide"][0].startswith("import statistics\nmean = ")
    assert "3" in messages["terminal"], "what the code printed"
    assert any("Saved a.md" in text for text in messages["terminal"])
    assert "Thought: I add.\n" in messages["chat"], "the thought, without the code"
    assert not any("<code>" in text for text in messages["chat"])
    assert messages["chat"][-1] == "That is all."


def panes(stage: AgentStage, run: str) -> dict[str, list[str]]:
    """The last contents of all messages, by pane."""
    asked = {"format": "panes", "live": "off"}
    lines = stage.client.get(f"/api/runs/{run}/events", params=asked).text.splitlines()
    shown: dict[str, Json] = {}
    for line in lines:
        if line.startswith("data: {"):
            message = json.loads(line[6:])
            before = shown.get(message["message_id"], {"content": ""})
            streams = message["metadata"]["streaming"]
            message["content"] = before["content"] * streams + message["content"]
            shown[message["message_id"]] = message
    found: dict[str, list[str]] = {"chat": [], "webide": [], "terminal": []}
    for message in shown.values():
        if not message["metadata"].get("retracted"):
            found[message["metadata"]["component"]].append(message["content"])
    return found


def test_approved_file_is_saved_and_the_next_turn_knows_it(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[save]] Save it.").run
    assert [(each.name, each.input) for each in chat.pending] == [
        ("save_file", {"path": "a.md", "content": "A"}),
    ]
    assert saved(chat) == {}, "nothing is saved before it is approved"
    chat.decide(True)
    assert saved(chat) == {"a.md": "A"}
    assert results(chat.events(run))["call_1.1"] == ("Saved a.md, 1 characters.", "ok")
    chat.send("Sure?")
    assert chat.text == "Yes."
    for words in ("[[save]] Save it.", "save_file(path='a.md'", "That is all.", "Sure?"):
        assert words in told(stage)


def test_denied_file_is_not_saved_and_the_code_ends_there(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[save]] Save it.").run
    assert len(chat.pending) == 1
    chat.decide(False, reason="Not there.")
    assert chat.text == "That is all."
    assert saved(chat) == {}
    found = results(chat.events(run))
    assert found["call_1.1"][1] == "denied"
    assert found["call_1"][1] == "error"
    assert "Not there." in told(stage)
    assert "after" not in found["call_1"][0]


def test_answer_goes_on_after_the_server_was_killed(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[save]] Save it.").run
    assert chat.pending
    stage.restart()
    chat.decide(True)
    chat.until("over")
    assert saved(chat) == {"a.md": "A"}
    assert chat.text == "That is all."
    assert results(chat.events(run))["call_1"][1] == "interrupted"
    assert "save_file(path='a.md', content='A'): Saved a.md" in told(stage)


def test_two_requests_in_one_run(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[files]] Go.", True, True)
    assert shown.done == [
        *("delete_file", "list_files"), *["python_interpreter"] * 3, "save_file",
    ]  # fmt: skip


def test_code_may_only_import_what_is_listed(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[outside]] Look around.").run
    output, status = results(chat.events(run))["call_1"]
    assert status == "error"
    assert "Import of os is not allowed" in output


def test_stopped_chat_can_be_continued(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("[[talk]] Stop this."):
        chat.begin("[[talk]] Stop this.")
        wait_until(lambda: "[[talk]] Stop this." in json.dumps(stage.provider.requests))
        chat.stop()
    chat.send("Go on.")
    assert chat.text == "One."
    assert "[[talk]] Stop this." in told(stage)


def test_error_of_the_provider_doubles_nothing(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[broken]] Add.")
    (error,) = chat.errors(reply.run)
    assert "Not today." in error["message"]
    events = chat.events(reply.run)
    assert len(of_type(events, "tool_use_start")) == 1
    assert [each.get("content") for each in of_type(events, "text")] == []
    parts = chat.messages[-1]["parts"]
    thoughts = [part["text"].strip() for part in parts if part["type"] == "reasoning"]
    assert thoughts == ["Thought: I add.", "Thought: And"]


def test_rate_limit_is_an_error_at_once(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[busy]] Go.")
    (error,) = chat.errors(reply.run)
    assert (error["code"], error["retryable"]) == ("rate_limited", True)


# On the simulated model

DONE: list[tuple[tuple[Answer, ...], list[str]]] = [
    ((), ["python_interpreter"] * 2),
    ((), ["python_interpreter"] * 2),
    (
        (),
        ["data_reader", "final_answer", "list_tables", *["python_interpreter"] * 2, "search_data"],
    ),
    (
        (True,),
        [
            *("data_reader", "final_answer", "list_tables"),
            *["python_interpreter"] * 3,
            *("save_file", "search_data"),
        ],
    ),
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
        run = chat.send(STARTERS[3]).run
        assert [each.name for each in chat.pending] == ["save_file"]
        chat.decide(True)
        (start,) = of_type(chat.events(run), "start")
        assert start["simulated"] is True
        assert "climate.md" in saved(chat)
