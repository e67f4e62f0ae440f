"""Agents on the real Claude Agent SDK with `shared.frameworks.claude`, beside the matrix.

Each waits for a person, and most of them in a process that is killed meanwhile.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.adapters.claude import OFFLINE
from frameworks.scripted_anthropic import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Item,
    ScriptedAnthropic,
    Scripts,
    call,
    say,
    scripted_anthropic,
)
from frameworks.stage import AGENT, Chat, Json, Stage, wait_until

FOLDER = Path(__file__).parent / "claude_helper"
DELETE, BEGIN = "mcp__files__delete_file", "mcp__files__begin"
RUN = "echo ran >> effects.txt; echo done"
COLORS = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
QUESTIONS = [
    {"question": "Which color?", "header": "Color", "multiSelect": False, "options": COLORS},
    {"question": "Which others?", "header": "More", "multiSelect": True, "options": COLORS},
]
LOCATE = {
    "name": "locate",
    "description": "Where the user is",
    "parameters": {"type": "object", "properties": {"precise": {"type": "boolean"}}},
}
END = [say("That is all.")]
SCRIPTS: Scripts = {
    "talk": [[say("One.")], [say("Two.")], [say("Three.")]],
    "delete": [[call("call_1", DELETE, path="a.txt")], END, [say("Indeed.")]],
    "two": [
        [call("call_1", DELETE, path="a.txt"), call("call_2", DELETE, path="b.txt")],
        END,
    ],
    "shell": [[call("call_1", "Bash", command=RUN, description="Run")], END, [say("Indeed.")]],
    "shells": [
        [
            call("call_1", "Bash", command=RUN, description="Run"),
            call("call_2", "Bash", command=RUN, description="Run again"),
        ],
        [call("call_3", "Bash", command=RUN, description="Run once more")],
        END,
    ],
    "forgetful": [
        [call("call_1", "Bash", command=RUN, description="Run")],
        [call("call_2", "Bash", command=RUN, description="Run")],
        END,
    ],
    "helper": [[call("call_h", DELETE, path="a.txt")], [say("It is done.")]],
    "delegate": [
        [
            call(
                "call_1",
                "Agent",
                description="Help",
                prompt="[[helper {chat}]] Help.",
                subagent_type="helper",
            )
        ],
        END,
    ],
    "ask": [[call("call_1", "AskUserQuestion", questions=QUESTIONS)], END],
    "page": [[call("call_1", "mcp__page__locate", precise=True)], END],
    "begin": [[call("call_1", BEGIN, what="it")], END],
    "report": [
        [call("call_1", "Bash", command=RUN, description="Run")],
        [call("call_2", DELETE, path="a.txt")],
        END,
    ],
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedAnthropic]:
    with scripted_anthropic(SCRIPTS) as running:
        yield running


@pytest.fixture(scope="module")
def stage(
    frameworks: Path, endpoint: ScriptedAnthropic, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """One server for all; those that kill it start it again."""
    env = {**OFFLINE, "NO_PROXY": "127.0.0.1", "ANTHROPIC_BASE_URL": endpoint.url}
    agent = {"framework": "claude", "entry": [str(frameworks), "run_agent.py"], "env": env}
    files = {file.name: file.read_text() for file in FOLDER.iterdir()}
    stage = Stage(tmp_path_factory.mktemp("claude"), files, agent)
    yield stage
    stage.close()


@pytest.fixture
def chat(stage: Stage, request: pytest.FixtureRequest) -> Chat:
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return stage.chat(name)


def ask(chat: Chat, script: str) -> str:
    return f"[[{script} {chat.name}]] Go."


def results(endpoint: ScriptedAnthropic, chat: Chat) -> dict[str, str]:
    """The results in the last request."""
    items = endpoint.conversations(chat.name)[-1]
    return {item.id: item.text for item in items if item.kind == "result"}


def requests_of(stage: Stage, chat: Chat) -> list[Json]:
    """The open requests of the active run, of all kinds."""
    chat.until("waiting")
    run = stage.client.get(f"/api/chats/{chat.name}").json()["activeRun"]["id"]
    return [event for event in chat.events(run) if event["type"] == "input_request"]


def usage_of(chat: Chat, run: str) -> tuple[int, int]:
    """The last total of a run's usage."""
    *_, total = (e for e in chat.events(run) if e["type"] == "usage" and e.get("per") == "run")
    return total["input"], total["output"]


# Approvals


def test_edited_input_is_what_the_tool_gets(chat: Chat, endpoint: ScriptedAnthropic) -> None:
    chat.send(ask(chat, "delete"))
    (pending,) = chat.pending
    chat.answer(pending.id, decision="edited", value={"path": "b.txt"})
    chat.until("over")
    assert chat.effects == ["deleted b.txt"]
    assert results(endpoint, chat) == {"call_1": "deleted b.txt"}


def test_an_answer_in_place_of_the_tool_is_its_result(
    chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "delete"))
    (pending,) = chat.pending
    chat.answer(pending.id, decision="answered", value="I have done it by hand.")
    chat.until("over")
    assert chat.effects == []
    assert results(endpoint, chat) == {"call_1": "I have done it by hand."}


def test_calls_are_answered_in_the_other_order_after_a_kill(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "two"))
    by_path = {each.input["path"]: each.id for each in chat.pending}
    stage.restart()
    chat.answer(by_path["b.txt"], decision="denied", reason="Not that one.")
    chat.answer(by_path["a.txt"], decision="edited", value={"path": "c.txt"})
    chat.until("over")
    assert chat.effects == ["deleted c.txt"]
    assert results(endpoint, chat) == {"call_1": "deleted c.txt", "call_2": "Not that one."}
    assert chat.text == "That is all."


def test_the_program_makes_its_own_call_after_a_kill(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "shell"))
    assert chat.pending
    stage.restart()
    chat.decide(True)
    chat.until("over")
    assert chat.effects == ["ran"]
    assert results(endpoint, chat) == {"call_1": "done"}
    chat.send("Really?")
    assert chat.text == "Indeed."
    assert results(endpoint, chat) == {"call_1": "done"}
    assert chat.effects == ["ran"]


def test_several_calls_of_the_program_are_reported_and_asked_again_after_a_kill(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "shells"))
    (pending,) = chat.pending
    stage.restart()
    chat.answer(pending.id, decision="approved")
    assert [each.own_call for each in chat.pending] == ["call_3"]
    assert "not made" in results(endpoint, chat)["call_1"]
    assert chat.effects == []
    chat.decide(True)
    assert chat.effects == ["ran"]


def test_a_deferred_call_that_the_program_forgets_is_reported_and_asked_again(
    stage: Stage, endpoint: ScriptedAnthropic
) -> None:
    chat = stage.chat("forgetful")
    chat.send(ask(chat, "forgetful"))
    (pending,) = chat.pending
    stage.restart()
    chat.answer(pending.id, decision="approved")
    wait_until(lambda: [each.own_call for each in chat.pending] == ["call_2"])
    assert "not made" in results(endpoint, chat)["call_1"]
    assert chat.effects == []
    chat.decide(True)
    assert chat.effects == ["ran"]


def test_a_call_of_a_subagent_is_approved_in_its_scope(stage: Stage, chat: Chat) -> None:
    chat.send(ask(chat, "delegate"))
    (request,) = requests_of(stage, chat)
    assert (request["tool_call_id"], request["scope"]) == ("call_h", ["call_1"])
    chat.answer(request["id"], decision="approved")
    chat.until("over")
    assert chat.effects == ["deleted a.txt"]
    assert chat.text.endswith("That is all.")


def test_a_run_that_waits_when_the_server_ends_is_answered_later(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "delete"))
    assert chat.pending
    stage.server.signal(signal.SIGTERM)
    stage.server.wait()
    stage.restart()
    asked = len(endpoint.conversations(chat.name))
    chat.decide(False, reason="It is the only copy.")
    chat.until("over")
    assert asked == 1, "the program was stopped before it asked the model again"
    assert chat.effects == []
    assert results(endpoint, chat) == {"call_1": "It is the only copy."}


def test_a_call_under_way_when_its_process_is_killed_is_unknown(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "begin"))
    (pending,) = chat.pending
    chat.answer(pending.id, decision="approved")
    wait_until(lambda: chat.effects)
    stage.restart()
    chat.until("over")
    chat.send("And?")
    assert results(endpoint, chat)["call_1"].startswith("unknown:")
    assert chat.effects == ["began it"]
    assert chat.text == "That is all."


def test_a_message_instead_of_an_answer_leaves_the_call_undone(
    chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "delete"))
    assert chat.pending
    chat.send("Never mind.")
    assert results(endpoint, chat)["call_1"].startswith("interrupted:")
    assert endpoint.conversations(chat.name)[-1][-1] == Item("user", "Never mind.")
    assert chat.effects == []


def test_own_can_use_tool_decides_before_a_person_is_asked(chat: Chat) -> None:
    chat.send(ask(chat, "report"))
    (pending,) = chat.pending
    assert pending.own_call == "call_2"
    chat.decide(True)
    assert chat.effects == ["ran", "deleted a.txt"]


# Questions


def test_questions_are_asked_with_their_options(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "ask"))
    wait_until(lambda: len(requests_of(stage, chat)) == 2)
    asked = {each["prompt"]: each for each in requests_of(stage, chat)}
    assert asked["Which color?"]["options"] == ["Red", "Blue"]
    chat.answer(asked["Which others?"]["id"], decision="answered", value=["Red", "Blue"])
    chat.answer(asked["Which color?"]["id"], decision="answered", value="Blue")
    chat.until("over")
    told = results(endpoint, chat)["call_1"]
    assert '"Which color?"="Blue"' in told
    assert '"Which others?"="Red, Blue"' in told


def test_questions_are_answered_after_a_kill(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "ask"))
    wait_until(lambda: len(requests_of(stage, chat)) == 2)
    asked = [each["id"] for each in requests_of(stage, chat)]
    stage.restart()
    for request in asked:
        chat.answer(request, decision="answered", value="Blue")
    chat.until("over")
    told = results(endpoint, chat)["call_1"]
    assert "Which color? Blue" in told
    assert "Which others? Blue" in told


# Tools of the page


def locate(stage: Stage, chat: Chat) -> str:
    """Send a message as a page that has a tool; the run, which waits for it."""
    said = {"id": f"{chat.name}-1", "role": "user", "content": ask(chat, "page")}
    body = {
        "threadId": chat.name,
        "runId": "r",
        "messages": [said],
        "tools": [LOCATE],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    with stage.client.stream("POST", f"/api/agui/agents/{AGENT}", json=body) as response:
        assert response.status_code == 200, response.read()
        lines = [line[6:] for line in response.iter_lines() if line.startswith("data: {")]
    calls = [e for e in map(json.loads, lines) if e["type"] == "TOOL_CALL_START"]
    assert [each["toolCallName"] for each in calls] == ["locate"]
    (request,) = requests_of(stage, chat)
    assert request["kind"] == "tool"
    return str(request["id"])


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_tool_of_the_page_is_run_by_the_page(
    stage: Stage, chat: Chat, endpoint: ScriptedAnthropic, is_killed: bool
) -> None:
    request = locate(stage, chat)
    if is_killed:
        stage.restart()
    chat.answer(request, decision="answered", value={"lat": 47})
    chat.until("over")
    assert results(endpoint, chat) == {"call_1": '{"lat": 47}'}
    assert chat.text == "That is all."
    tools = [part for part in chat.messages[-1]["parts"] if "toolCallId" in part]
    assert [(part["type"], part["state"]) for part in tools] == [
        ("tool-locate", "output-available")
    ]


# Memory


def test_each_run_counts_its_own_usage(chat: Chat) -> None:
    first = chat.send(ask(chat, "talk"))
    second = chat.send("And then?")
    again = chat.regenerate()
    runs = (first.run, second.run, again.run)
    assert [usage_of(chat, run) for run in runs] == [(INPUT_TOKENS, OUTPUT_TOKENS)] * 3


def test_a_lost_session_starts_anew_with_the_history(
    chat: Chat, endpoint: ScriptedAnthropic
) -> None:
    chat.send(ask(chat, "talk"))
    shutil.rmtree(chat.folder / "claude")
    chat.send("And then?")
    last = endpoint.conversations(chat.name)[-1]
    assert not [item for item in last if item.kind == "text"], "it is all told by the user"
    words = [item.text for item in last]
    assert words.index(f"User: {ask(chat, 'talk')}") < words.index("Assistant: One.")
    assert words.index("Assistant: One.") < words.index("And then?")


def test_no_chat_sees_the_sessions_of_another(stage: Stage, chat: Chat) -> None:
    other = stage.chat(f"{chat.name}-other")
    for each in (chat, other):
        each.send(ask(each, "talk"))
    files = [list(each.folder.glob("claude/home/projects/*/*.jsonl")) for each in (chat, other)]
    assert [len(found) for found in files] == [1, 1]


def test_messages_continue_one_session_and_an_edit_forks_it(chat: Chat) -> None:
    def sessions() -> int:
        return len(list(chat.folder.glob("claude/home/projects/*/*.jsonl")))

    chat.send(ask(chat, "talk"))
    chat.send("And then?")
    assert sessions() == 1
    chat.edit(2, "What next?")
    assert sessions() == 2


def test_options_can_be_a_function_of_the_turn(chat: Chat, endpoint: ScriptedAnthropic) -> None:
    chat.send(ask(chat, "talk"))
    (body,) = [each.body for each in endpoint.asked if each.chat == chat.name]
    assert chat.name in json.dumps(body["system"])


def test_a_document_is_a_block_of_the_prompt(chat: Chat, endpoint: ScriptedAnthropic) -> None:
    data: Any = "JVBERi0xLjQKJSVFT0YK"
    chat.send(
        ask(chat, "talk"),
        {
            "type": "file",
            "mediaType": "application/pdf",
            "filename": "a.pdf",
            "url": f"data:application/pdf;base64,{data}",
        },
    )
    assert Item("document", data) in endpoint.conversations(chat.name)[-1]
