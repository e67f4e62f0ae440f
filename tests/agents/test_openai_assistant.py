"""The agent openai-assistant in a real server, by the real clients: on a script, and by itself."""

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
from frameworks.stage import Chat, Json, wait_until
from mobox.models.simulator import Fail, Script, Text, Think, Tool

AGENT = "openai-assistant"
STARTERS = yaml.safe_load((AGENTS / AGENT / "agent.yaml").read_text())["starters"]
STEPS = ("Ask the expert", "Refund")


def todos(*statuses: str) -> Tool:
    items = [{"content": c, "status": s} for c, s in zip(STEPS, statuses, strict=True)]
    return Tool("write_todos", {"todos": items})


def refund(number: str) -> Tool:
    return Tool("refund_order", {"order_number": number, "reason": "It was broken."})


SCRIPT = Script(
    {
        "whole": [
            [Think("Two steps will do."), Text("First a plan."), todos("pending", "pending")],
            [todos("in_progress", "pending"),
             Tool("policy_expert", {"input": "[[policy]] What about broken goods?"})],
            [todos("completed", "in_progress"), Tool("transfer_to_refund_desk")],
            [Text("I refund it."), refund("1040")],
            [todos("completed", "completed")],
            [Text("You have your money back.")],
            [Text("It was the teapot.")],
        ],
        "policy": [
            [Text("I look."), Tool("search_policies", {"query": "broken goods"})],
            [Text("They are refunded.")],
        ],
        "two": [
            [Tool("transfer_to_refund_desk")],
            [refund("1040"), Tool("cancel_order", {"order_number": "1043"})],
            [Text("That is all.")],
        ],
        "unknown": [
            [Tool("get_order", {"order_number": "7"}), Tool("list_orders")],
            [Text("There is none.")],
        ],
        "talk": [[Text("One.")], [Text("Two.")]],
        "broken": [
            [Text("I look."), Tool("get_order", {"order_number": "1042"})],
            [Text("It is "), Fail(500, "Not today.")],
        ],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def stage(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStage]:
    folder = tmp_path_factory.mktemp(AGENT)
    env = {"REASONING": "low"}
    with agent_stage(folder, frameworks, AGENT, script=SCRIPT, env=env) as stage:
        yield stage


def shop_of(chat: Chat) -> dict[str, str]:
    """The status of each order that a chat has changed.

    A process that was started before its turn has the chat's folder until it has exited.
    """
    own = chat.folder / "orders.json"
    wait_until(own.exists)
    before = json.loads((AGENTS / AGENT / "data" / "orders.json").read_text())
    now = json.loads(own.read_text())
    return {number: order["status"] for number, order in now.items() if order != before[number]}


def outputs_of(chat: Chat, run: str) -> list[str]:
    return [str(event["output"]) for event in of_type(chat.events(run), "tool_result")]


# On a script


def test_whole_job_is_the_same_for_every_client(stage: AgentStage, clients: Clients) -> None:
    shown = check_clients(stage, clients, "[[whole]] The teapot arrived broken.", True)
    assert shown.done == [
        "policy_expert", "refund_order", "search_policies", "transfer_to_refund_desk",
        *["write_todos"] * 4,
    ]  # fmt: skip
    assert shown.texts[-1] == "You have your money back."


def test_plan_expert_and_thoughts_are_shown_while_they_happen(stage: AgentStage) -> None:
    """The expert's own steps are in the log before its last request is answered."""
    chat = stage.chat()
    with stage.provider.holding("## Broken goods"):
        run = chat.begin("[[whole]] The teapot arrived broken.")
        wait_until(lambda: any(scoped(chat.events(run), "tool_result")))
        events = chat.events(run)
        assert not of_type(events, "subagent_end")
    (start,) = of_type(events, "subagent_start")
    assert (start["agent"], start["task"]) == (
        "Policy expert", "[[policy]] What about broken goods?",
    )  # fmt: skip
    nested = scoped(events, "text", "tool_use_end", "tool_result")
    assert [each["scope"] for each in nested] == [[start["id"]]] * 3
    assert nested[1]["input"] == {"query": "broken goods"}
    chat.decide(True)
    chat.until("over")
    events = chat.events(run)
    assert len(of_type(events, "subagent_end")) == 1
    assert todo_statuses(events) == [
        ["pending", "pending"],
        ["in_progress", "pending"],
        ["completed", "in_progress"],
        ["completed", "completed"],
    ]
    thoughts = "".join(each["delta"] for each in of_type(events, "thinking_delta"))
    assert thoughts == "Two steps will do."
    agents = [each["value"]["agent"] for each in of_type(events, "custom")]
    assert agents == ["Service desk", "Refund desk", "Refund desk"], "the last after the pause"
    assert shop_of(chat) == {"1040": "refunded"}


def scoped(events: list[Json], *types: str) -> list[Json]:
    """The events of agents that are tools."""
    return [event for event in of_type(events, *types) if event.get("scope")]


def test_second_turn_knows_the_first(stage: AgentStage) -> None:
    chat = stage.chat()
    chat.send("[[whole]] The teapot arrived broken.")
    chat.decide(True)
    chat.send("Which one was it?")
    assert chat.text == "It was the teapot."
    seen = json.dumps(stage.provider.requests[-1]["input"])
    assert "[[whole]] The teapot arrived broken." in seen
    assert "Refunded 34.00 EUR for order 1040." in seen
    assert "You have your money back." in seen


def test_denied_call_is_never_made(stage: AgentStage) -> None:
    """Two calls in one pause, of which one is denied."""
    chat = stage.chat()
    run = chat.send("[[two]] Refund 1040 and cancel 1043.").run
    assert [each.name for each in chat.pending] == ["refund_order", "cancel_order"]
    assert outputs_of(chat, run) == ['{"assistant": "Refund desk"}']
    refund_order, cancel_order = chat.pending
    chat.answer(cancel_order.id, decision="denied", reason="It is a gift.")
    chat.answer(refund_order.id, decision="approved")
    chat.until("over")
    assert shop_of(chat) == {"1040": "refunded"}
    assert "It is a gift." in json.dumps(stage.provider.requests[-1]["input"])
    decisions = [each["decision"] for each in of_type(chat.events(run), "input_response")]
    assert decisions == ["denied", "approved"]


def test_every_chat_has_its_own_shop(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send("[[unknown]] Where is order 7?").run
    outputs = outputs_of(chat, run)
    assert "There is no order 7." in outputs
    assert any("1040: Teapot, blue, 34.00 EUR, delivered" in each for each in outputs)


def test_stopped_chat_can_be_continued(stage: AgentStage) -> None:
    chat = stage.chat()
    with stage.provider.holding("[[talk]] Stop this."):
        chat.begin("[[talk]] Stop this.")
        wait_until(lambda: "[[talk]] Stop this." in json.dumps(stage.provider.requests))
        chat.stop()
    chat.send("Go on.")
    assert chat.text == "One."
    assert "[[talk]] Stop this." in json.dumps(stage.provider.requests[-1]["input"])


def test_error_of_the_provider_doubles_nothing(stage: AgentStage) -> None:
    chat = stage.chat()
    reply = chat.send("[[broken]] Where is order 1042?")
    (error,) = chat.errors(reply.run)
    assert "Not today." in error["message"]
    assert reply.text == "I look.It is "
    assert len(of_type(chat.events(reply.run), "tool_use_start")) == 1
    assert [part["text"] for part in chat.messages[-1]["parts"] if part["type"] == "text"] == [
        "I look.", "It is ",
    ]  # fmt: skip


def test_answer_goes_on_after_the_server_was_killed(stage: AgentStage) -> None:
    chat = stage.chat()
    chat.send("[[whole]] The teapot arrived broken.")
    stage.restart()
    chat.decide(True)
    chat.until("over")
    assert shop_of(chat) == {"1040": "refunded"}
    assert chat.text.endswith("You have your money back.")


# On the simulated model

DONE: list[tuple[tuple[Answer, ...], list[str]]] = [
    ((), ["get_order"]),
    ((True,), ["get_order", "refund_order", "transfer_to_refund_desk"]),
    ((), ["policy_expert", "search_policies"]),
    ((True,), ["get_order", "policy_expert", "refund_order", "search_policies",
               "transfer_to_refund_desk", *["write_todos"] * 4]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(STARTERS)))
def test_starter(stage: AgentStage, clients: Clients, number: int) -> None:
    answers, done = DONE[number]
    shown = check_clients(stage, clients, STARTERS[number], *answers)
    assert shown.done == done
    assert "simulated model" in shown.texts[-1]


def test_plan_is_completed_by_the_agent_that_took_over(stage: AgentStage) -> None:
    chat = stage.chat()
    run = chat.send(STARTERS[3]).run
    chat.decide(True)
    statuses = todo_statuses(chat.events(run))
    assert statuses[0] == ["in_progress", "pending", "pending"]
    assert statuses[-1] == ["completed"] * 3


def test_starter_without_a_key(frameworks: Path, tmp_path: Path) -> None:
    with agent_stage(tmp_path, frameworks, AGENT, keys=False) as stage:
        (agent,) = stage.client.get("/api/agents").json()["agents"]
        assert (agent["model"], agent["starters"]) == ("simulated", STARTERS)
        chat = stage.chat()
        run = chat.send(STARTERS[1]).run
        assert [each.name for each in chat.pending] == ["refund_order"]
        chat.decide(False)
        (start,) = of_type(chat.events(run), "start")
        assert start["simulated"] is True
        assert not any("Refunded" in output for output in outputs_of(chat, run))
