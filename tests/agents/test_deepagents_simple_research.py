"""The research agent in a real server: it plans, delegates, searches, thinks and reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from agents.agent_stage import (
    AGENTS,
    AgentStage,
    Clients,
    agent_stage,
    check_clients,
    of_type,
    served,
    todo_statuses,
)
from frameworks.stage import Json, wait_until
from mobox.capture.catalog import load_agent
from mobox.models.simulator import Fail, Script, Text, Think, Tool

AGENT = "deepagents-simple-research"
STARTERS = load_agent(AGENTS / AGENT).starters
PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"


def todos(*statuses: str) -> Tool:
    lines = [f"Find out {n}" for n in range(1, len(statuses))] + ["Write the report"]
    items = [
        {"content": line, "status": status} for line, status in zip(lines, statuses, strict=True)
    ]
    return Tool("write_todos", {"todos": items})


def delegate(task: str) -> Tool:
    return Tool("task", {"description": task, "subagent_type": "researcher"})


SCRIPT = Script(
    {
        "dance": [
            [Think("A plan first."), Text("I plan."), todos(PENDING, PENDING)],
            [todos(IN_PROGRESS, PENDING), delegate("[[bees]] How do bees dance?")],
            [todos(COMPLETED, IN_PROGRESS)],
            [todos(COMPLETED, COMPLETED)],
            [Text("They waggle [1].\n\n## Sources\n\n1. Honey bees: corpus/honey-bees.md")],
            [Text("In 1973.")],
        ],
        "bees": [
            [Text("I search."), Tool("internet_search", {"query": "waggle dance of bees"})],
            [Tool("think_tool", {"thought": "The dance is explained."})],
            [Text("They waggle. Sources: [1] Honey bees: corpus/honey-bees.md")],
        ],
        "compare": [
            [delegate(f"[[one]] What is {name}?") for name in ("alpha", "beta", "gamma")],
            [Text("All three are letters.")],
        ],
        "one": [
            [Tool("think_tool", {"thought": "It is a letter."})],
            [Text("A letter.")],
        ],
        "busy": [[Fail(529, times=1), Text("At last.")]],
        "lost": [
            [Text("I delegate."), delegate("[[breaks]] Say something.")],
            [Text("Done.")],
        ],
        "breaks": [
            [Text("Half a "), Fail(529, "Overloaded")],
        ],
    }
)


@pytest.fixture(scope="module")
def stage(environments: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    """One server for all scenarios."""
    folder = tmp_path_factory.mktemp("research")
    with agent_stage(folder, environments, AGENT, script=SCRIPT) as stage:
        yield stage


def within(events: list[Json], call: str) -> list[Json]:
    return [event for event in events if event.get("scope") == [call]]


def spawned(events: list[Json]) -> list[str]:
    return [event["id"] for event in of_type(events, "subagent_start")]


def said_to_model(stage: AgentStage, marker: str) -> list[Json]:
    """The messages of the last request of a conversation."""
    asked = [r for r in stage.provider.requests if marker in json.dumps(r["messages"][0])]
    messages: list[Json] = asked[-1]["messages"]
    return messages


def test_question_is_planned_delegated_and_reported(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[dance]] How do bees dance?")
    events = chat.events(reply.run)
    assert todo_statuses(events) == [
        [PENDING, PENDING],
        [IN_PROGRESS, PENDING],
        [COMPLETED, IN_PROGRESS],
        [COMPLETED, COMPLETED],
    ]
    (researcher,) = spawned(events)
    inner = within(events, researcher)
    names = [event["name"] for event in of_type(inner, "tool_use_start")]
    assert names == ["internet_search", "think_tool"]
    thoughts = [each for each in of_type(events, "thinking") if each.get("source") == "think"]
    assert [(each["content"], each["scope"]) for each in thoughts] == [
        ("The dance is explained.", [researcher])
    ]
    (found, thought) = of_type(inner, "tool_result")
    assert "about one second of waggling" in found["output"]
    assert thought["output"] == "Thought recorded."
    sources = of_type(inner, "source")
    assert sources[0]["document"] == "corpus/honey-bees.md"
    assert sources[0]["title"] == "Honey bees: The waggle dance"
    assert chat.text.endswith("1. Honey bees: corpus/honey-bees.md")
    chat.send("When was it decoded?")
    assert chat.text == "In 1973."
    told = said_to_model(stage, "[[dance]]")
    texts = [part["text"] for each in told for part in parts_of(each) if part["type"] == "text"]
    assert texts.count("[[dance]] How do bees dance?") == 1
    assert texts[-2:] == [
        "They waggle [1].\n\n## Sources\n\n1. Honey bees: corpus/honey-bees.md",
        "When was it decoded?",
    ]


def parts_of(message: Json) -> list[Json]:
    content: Any = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def test_research_is_the_same_for_every_client(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[dance]] How do bees dance?")
    assert shown.texts[-1].startswith("They waggle [1].")
    expected = ["internet_search", "task", "think_tool", *["write_todos"] * 4]
    assert shown.calls == shown.done == expected


def test_work_of_a_subagent_is_shown_while_it_works(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("about one second of waggling"):  # the request after the search
        run = chat.begin("[[dance]] How do bees dance?")
        wait_until(lambda: of_type(chat.events(run), "source"))
        events = chat.events(run)
        (researcher,) = spawned(events)
        assert of_type(within(events, researcher), "tool_result")
        assert not of_type(events, "subagent_end", "done")
        assert todo_statuses(events)[-1] == [IN_PROGRESS, PENDING]
    chat.until("over")
    assert of_type(chat.events(run), "subagent_end")


def test_compared_things_are_researched_at_the_same_time(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("Thought recorded."):
        run = chat.begin("[[compare]] Compare alpha, beta and gamma.")
        wait_until(lambda: len(of_type(chat.events(run), "thinking")) == 3)
        events = chat.events(run)
        assert len(spawned(events)) == 3
        assert not of_type(events, "subagent_end")
        scopes = [event["scope"] for event in of_type(events, "thinking")]
        assert sorted(scopes) == sorted([call] for call in spawned(events))
    chat.until("over")
    assert chat.text == "All three are letters."


def test_stopped_research_can_be_continued(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("about one second of waggling"):
        run = chat.begin("[[dance]] How do bees dance?")
        wait_until(lambda: of_type(chat.events(run), "source"))
        chat.stop()
    (done,) = of_type(chat.events(run), "done")
    assert done["reason"] == "cancelled"
    before = len(stage.provider.requests)
    chat.send("Hello?")
    assert stage.provider.requests[before:], "the model is asked again"
    assert not chat.errors(chat.messages[-1]["id"])


def test_error_before_an_answer_is_tried_again_by_the_sdk(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[busy]] Hello")
    assert (chat.text, chat.errors(reply.run)) == ("At last.", [])


def test_error_in_a_subagent_ends_the_run_once(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[lost]] Say something.")
    (error,) = chat.errors(reply.run)
    assert (error["code"], error["retryable"]) == ("overloaded", True)
    texts = [event["delta"] for event in of_type(chat.events(reply.run), "text_delta")]
    assert "".join(texts) == "I delegate.Half a "
    (done,) = of_type(chat.events(reply.run), "done")
    assert done["reason"] == "error"
    again = chat.regenerate()
    assert len(chat.errors(again.run)) == 1
    told = said_to_model(stage, "[[lost]]")
    assert [each["role"] for each in told] == ["user"], "the failed try is not repeated"


@pytest.mark.parametrize("starter", STARTERS)
def test_starter_is_answered_by_the_simulated_model(stage: AgentStage, starter: str) -> None:
    chat = stage.chat()
    events = chat.events(chat.send(starter).run)
    assert len(spawned(events)) == (3 if starter.startswith("Compare") else 1)
    for call in spawned(events):
        calls = [each["name"] for each in of_type(within(events, call), "tool_use_start")]
        assert calls == ["internet_search", "think_tool"] * 2
        assert of_type(within(events, call), "source"), "the corpus knows the topic"
    assert set(todo_statuses(events)[-1]) == {COMPLETED}
    assert {IN_PROGRESS, PENDING} <= set(todo_statuses(events)[0])
    assert "### Sources\n\n1. " in chat.text
    assert "Here is what was found" in chat.text


async def tavily(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    query = (await request.json())["query"]
    key = request.headers["authorization"]
    page = {"title": f"On {query}", "url": "https://tea.example/", "content": f"Tea. {key}"}
    await JSONResponse({"results": [page]})(scope, receive, send)


def test_web_is_searched_with_a_key_for_tavily(environments: Path, tmp_path: Path) -> None:
    with (
        served(tavily) as url,
        agent_stage(
            tmp_path, environments, AGENT, env={"TAVILY_BASE_URL": url, "TAVILY_API_KEY": "tvly-1"}
        ) as stage,
    ):
        chat = stage.chat()
        events = chat.events(chat.send("What is tea?").run)
    source = of_type(events, "source")[0]
    assert (source["url"], source["title"]) == ("https://tea.example/", "On tea")
    assert source["cited_text"] == "Tea. Bearer tvly-1", "the gateway adds the server's key"
    assert "1. [On tea](https://tea.example/)" in chat_text(events)


def chat_text(events: list[Json]) -> str:
    return "".join(event["delta"] for event in of_type(events, "text_delta"))
