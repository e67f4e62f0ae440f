"""The agent claude-assistant in a real server, by the real clients: on a script, and by itself."""

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
    todo_statuses,
)
from frameworks.stage import Json, wait_until
from mobox.models.simulator import Fail, Script, Text, Think, Tool

AGENT = "claude-assistant"
STARTERS = yaml.safe_load((AGENTS / AGENT / "agent.yaml").read_text())["starters"]
STEPS = ("Find out", "Write it down")


def todos(*statuses: str) -> Tool:
    items = [
        {"content": step, "activeForm": step, "status": status}
        for step, status in zip(STEPS, statuses, strict=True)
    ]
    return Tool("TodoWrite", {"todos": items})


def ask_researcher(task: str) -> Tool:
    about = {"description": "Find out", "prompt": task, "subagent_type": "researcher"}
    return Tool("Agent", about)


SCRIPT = Script(
    {
        "whole": [
            [Think("Two steps will do."), Text("First a plan."), todos("pending", "pending")],
            [todos("in_progress", "pending"), ask_researcher("[[bees]] How do bees find flowers?")],
            [todos("completed", "in_progress"), Tool("Write", {"file_path": "bees.md",
                                                              "content": "They dance."})],
            [todos("completed", "completed")],
            [Text("It is in bees.md.")],
        ],
        "bees": [
            [Think("Where to look?"), Text("I look."), Tool("WebSearch", {"query": "bees"})],
            [Text("They dance.")],
        ],
        "write": [
            [Text("I write."), Tool("Write", {"file_path": "a.md", "content": "A"})],
            [Text("That is all.")],
            [Text("Indeed.")],
        ],
        "late": [
            [Tool("Write", {"file_path": "a.md", "content": "A"})],
            [ask_researcher("[[bees]] How do bees find flowers?")],
            [Text("That is all.")],
        ],
        "run": [
            [Tool("Bash", {"command": "echo ran > ran.txt", "description": "Run"})],
            [Text("That is all.")],
        ],
        "read": [
            [Tool("Read", {"file_path": "notes.md"}), Tool("Glob", {"pattern": "*.md"})],
            [Text("The van.")],
        ],
        "peek": [[Tool("Read", {"file_path": "/etc/hostname"})], [Text("That is all.")]],
        "cat": [
            [Tool("Bash", {"command": "cat /etc/hostname", "description": "Read"})],
            [Text("That is all.")],
        ],
        "talk": [[Text("One.")], [Text("Two.")]],
        "broken": [
            [Text("I read."), Tool("Read", {"file_path": "notes.md"})],
            [Text("It says "), Fail(400, "Not today.")],
        ],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def stage(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    folder = tmp_path_factory.mktemp(AGENT)
    with agent_stage(folder, frameworks, AGENT, script=SCRIPT) as stage:
        yield stage


def written(stage: AgentStage) -> list[str]:
    """The files that all chats have written, but for the notes that each starts with."""
    files = [file.name for file in stage.data.glob("state/*/files/*")]
    return sorted(name for name in files if name != "notes.md")


# On a script


def test_whole_job_is_the_same_for_every_client(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[whole]] How do bees find flowers?", True)
    assert shown.done == ["Agent", *["TodoWrite"] * 4, "WebSearch", "Write"]
    assert shown.texts[-1] == "It is in bees.md."


def test_plan_subagent_and_thoughts_are_shown_while_they_happen(stage: AgentStage) -> None:
    """The subagent's own steps are in the log before its last request is answered."""
    chat = stage.chat()
    with stage.provider.holding("Web search results for query: "):
        run = chat.begin("[[whole]] How do bees find flowers?")
        wait_until(lambda: any(scoped(chat.events(run), "tool_result")))
        events = chat.events(run)
        assert not of_type(events, "subagent_end")
    (start,) = of_type(events, "subagent_start")
    assert (start["agent"], start["task"]) == (
        "researcher", "[[bees]] How do bees find flowers?",
    )  # fmt: skip
    nested = scoped(events, "thinking", "text", "tool_use_end", "tool_result")
    assert [each["scope"] for each in nested] == [[start["id"]]] * 4
    assert [each.get("content") for each in nested[:2]] == ["Where to look?", "I look."]
    assert nested[2]["input"] == {"query": "bees"}
    chat.decide(True)
    chat.until("over")
    events = chat.events(run)
    (end,) = of_type(events, "subagent_end")
    assert end["summary"] == "They dance."
    assert todo_statuses(events) == [
        ["pending", "pending"],
        ["in_progress", "pending"],
        ["completed", "in_progress"],
        ["completed", "completed"],
    ]
    thoughts = "".join(each["delta"] for each in of_type(events, "thinking_delta"))
    assert thoughts == "Two steps will do."
    assert (chat.folder / "files" / "bees.md").read_text() == "They dance."


def scoped(events: list[Json], *types: str) -> list[Json]:
    """The events of subagents."""
    return [event for event in of_type(events, *types) if event.get("scope")]


def test_approved_file_is_written_and_the_next_turn_knows_it(stage: AgentStage) -> None:
    chat = stage.chat()
    chat.send("[[write]] Write it.")
    file = chat.folder / "files" / "a.md"
    assert not file.exists(), "nothing is written before it is approved"
    chat.decide(True)
    assert file.read_text() == "A"
    chat.send("Sure?")
    assert chat.text == "Indeed."
    seen = json.dumps(stage.provider.requests[-1]["messages"])
    assert "[[write]] Write it." in seen
    assert "File created successfully" in seen
    assert "That is all." in seen


@pytest.mark.parametrize("name", ["write", "run", "peek", "cat"])
def test_denied_call_is_never_made(stage: AgentStage, name: str) -> None:
    """Also what would only be read, if it is not in the chat's folder."""
    before = written(stage)
    chat = stage.chat()
    run = chat.send(f"[[{name}]] Go.").run
    assert len(chat.pending) == 1
    chat.decide(False, reason="It is private.")
    assert chat.text.endswith("That is all.")
    assert written(stage) == before
    (answer,) = of_type(chat.events(run), "input_response")
    assert (answer["decision"], answer["reason"]) == ("denied", "It is private.")
    assert "It is private." in json.dumps(stage.provider.requests[-1]["messages"])


def test_files_of_the_chat_are_read_without_a_question(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[read]] What is open?").run
    assert chat.text == "The van."
    outputs = [str(event["output"]) for event in of_type(chat.events(run), "tool_result")]
    assert any("Book a van" in output for output in outputs)
    assert "notes.md" in outputs


def test_paths_in_a_prompt_are_not_replaced_by_files(stage: AgentStage, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the canary sings")
    chat = stage.chat()
    chat.send(f"[[talk]] Look at @{tmp_path}/secret.txt")
    assert "the canary sings" not in json.dumps(stage.provider.requests)


def test_stopped_chat_can_be_continued(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("[[talk]] Stop this."):
        chat.begin("[[talk]] Stop this.")
        wait_until(lambda: "[[talk]] Stop this." in json.dumps(stage.provider.requests))
        chat.stop()
    chat.send("Go on.")
    assert chat.text == "One."
    assert "[[talk]] Stop this." in json.dumps(stage.provider.requests[-1]["messages"])


def test_error_of_the_provider_doubles_nothing(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[broken]] What is open?")
    (error,) = chat.errors(reply.run)
    assert "Not today." in error["message"]
    assert reply.text == "I read.It says "
    assert len(of_type(chat.events(reply.run), "tool_use_start")) == 1
    assert [part["text"] for part in chat.messages[-1]["parts"] if part["type"] == "text"] == [
        "I read.", "It says ",
    ]  # fmt: skip


def test_answer_goes_on_after_the_server_was_killed(stage: AgentStage) -> None:
    """The file is written, and the agent goes on with its own prompt and subagents."""
    chat = stage.chat()
    run = chat.send("[[late]] Write it.").run
    stage.restart()
    chat.decide(True)
    chat.until("over")
    assert (chat.folder / "files" / "a.md").read_text() == "A"
    assert chat.text.endswith("That is all.")
    (end,) = of_type(chat.events(run), "subagent_end")
    assert end["summary"] == "They dance."
    last = stage.provider.requests[-1]
    assert "You work in a folder of your own" in json.dumps(last["system"])


# On the simulated model

DONE: list[tuple[tuple[Answer, ...], list[str]]] = [
    ((True,), ["Write"]),
    ((), ["Agent", "WebSearch"]),
    ((True,), ["TodoWrite", "TodoWrite", "TodoWrite", "WebSearch", "Write"]),
    ((), ["Read"]),
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
        run = chat.send(STARTERS[0]).run
        assert [each.name for each in chat.pending] == ["Write"]
        chat.decide(True)
        (start,) = of_type(chat.events(run), "start")
        assert start["simulated"] is True
        assert (chat.folder / "files" / "packing.md").exists()
