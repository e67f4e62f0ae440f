"""`mobox run`: a chat in a real terminal, and in pipes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from mobox.events import Done, InputResponse
from server.live_server import (
    LIMIT,
    MOBOX,
    Kept,
    agent_processes,
    clean_environment,
    live_server,
    mobox,
    stored,
)
from support.grammar_ag_ui import check_ag_ui
from support.grammar_ai_sdk import check_ai_sdk
from support.terminal import CTRL_C, CTRL_D, in_terminal
from support.waiting import wait_until

AGENTS = Path(__file__).parent / "agents"
OURS = Path(__file__).parents[2] / "agents"
FAST = {"MOBOX_DEMO_SPEED": "0"}
QUICK = {"MOBOX_DEMO_SPEED": "20"}


def kept(data: Path) -> list[Kept]:
    """The runs that are stored, oldest first."""
    return sorted(asyncio.run(stored(data)).values(), key=lambda each: each.run.started_at)


def last_of(data: Path) -> Kept:
    return kept(data)[-1]


def documents(sse: str) -> list[bytes]:
    return [each.removeprefix("data: ").encode() for each in sse.split("\n\n") if each]


# One message


def test_answer_is_on_stdout_and_all_else_on_stderr(tmp_path: Path) -> None:
    code, out, err = mobox("run", "demo", "tool", cwd=tmp_path, **FAST)
    assert (code, out) == (0, "Sun today, clouds tomorrow, and rain the day after.\n")
    assert '● get_weather city: "Zürich", days: 3\n  └ {"forecast"' in err
    assert "tokens in" in err
    assert "\x1b" not in out + err


def test_chat_is_stored_as_a_server_stores_it(tmp_path: Path) -> None:
    assert mobox("run", "demo", "text Hi!", cwd=tmp_path, **FAST)[0] == 0
    with live_server(tmp_path / ".mobox") as server, httpx.Client(base_url=server.url) as client:
        (chat,) = client.get("/api/chats").json()["chats"]
        question, answer = client.get(f"/api/chats/{chat['id']}").json()["messages"]
    assert question["parts"] == [{"type": "text", "text": "text Hi!"}]
    assert answer["content"] == "Hi!"


@pytest.mark.parametrize("arguments", [["-"], []])
def test_prompt_is_read_from_stdin(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [*MOBOX, "run", "demo", *arguments, "--data", tmp_path / "data"],
        input="text from a pipe",
        capture_output=True,
        text=True,
        env=clean_environment(**FAST),
        timeout=LIMIT,
    )
    assert (done.returncode, done.stdout) == (0, "from a pipe\n")


def test_agent_may_be_the_path_of_its_folder(tmp_path: Path) -> None:
    shutil.copytree(AGENTS / "memory", tmp_path / "mine")
    for name, cwd in (("./mine", tmp_path), (".", tmp_path / "mine"), (f"{tmp_path}/mine", None)):
        code, out, err = mobox("run", name, "hello", "--data", tmp_path / "data", cwd=cwd)
        assert (code, out) == (0, "1 so far: hello\n"), err
    assert {each.run.agent for each in kept(tmp_path / "data")} == {"mine"}


def test_failed_run_exits_with_1_and_names_the_command_for_its_logs(tmp_path: Path) -> None:
    code, out, err = mobox("run", "demo", "crash", "--data", tmp_path / "my data", cwd=None, **FAST)
    assert (code, out) == (1, "Watch this: \n")
    run = last_of(tmp_path / "my data").run
    shown = f"mobox logs {run.id} --data '{tmp_path}/my data'"
    assert f"✗ RuntimeError: the demo crashed on purpose\n  crashed · {shown}\n" in err
    logs = mobox("logs", run.id, "--data", tmp_path / "my data")
    assert "RuntimeError: the demo crashed on purpose" in logs[2]


def test_run_that_needs_an_answer_stays_waiting(tmp_path: Path) -> None:
    code, out, err = mobox("run", "demo", "approve", cwd=tmp_path, **FAST)
    assert (code, out) == (3, "")
    run = last_of(tmp_path / ".mobox").run
    assert run.status == "waiting"
    assert "? May I delete holiday-photos.zip?\n" in err
    assert f"mobox run demo --chat {run.chat_id}\n" in err.splitlines(keepends=True)[-1]


def test_frontend_tools_are_declined(tmp_path: Path) -> None:
    code, out, _ = mobox("run", "page", "x", "--agents", AGENTS, cwd=tmp_path)
    assert code == 0
    assert out.startswith("denied: This client is a terminal")


def test_wrong_usage_is_explained(tmp_path: Path) -> None:
    broken = tmp_path / "agents" / "broken"
    broken.mkdir(parents=True)
    (broken / "agent.yaml").write_text("name: x\nframwork: claude\n")
    assert "no agents: no folder in agents has a valid" in mobox("run", "x", "x", cwd=tmp_path)[2]
    shutil.copytree(AGENTS / "memory", tmp_path / "agents/demo")
    for arguments, expected in (
        (["run", "nobody", "x"], "unknown agent 'nobody'; known: "),
        (["run", "./nobody", "x"], "no agent in ./nobody: there is no agent.yaml"),
        (["run", "broken", "x"], "agent.yaml:2: framwork: unknown field"),
        (["run", "demo", " "], "the prompt is empty"),
        (["run", "demo", "x", "--to", "pigeon"], "unknown protocol 'pigeon'; known: "),
        (["run", "demo", "x", "--profile", "v6"], "--profile needs --to"),
        (["run", "demo", "x", "--json", "--to", "ai-sdk"], "not allowed with"),
        (["run", "demo", "x", "--agents", "/no/such"], "no such folder"),
    ):
        code, out, err = mobox(*arguments, cwd=tmp_path)
        assert (code, out) == (2, ""), arguments
        assert expected in err
    assert not (tmp_path / ".mobox").exists()


# For programs


def test_json_is_the_log(tmp_path: Path) -> None:
    code, out, err = mobox("run", "demo", "all", "--json", cwd=tmp_path, **FAST)
    assert (code, err) == (0, "")
    run = last_of(tmp_path / ".mobox")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["seq"] for line in lines] == [entry.seq for entry in run.entries]
    assert lines[-1]["event"] == {"type": "done", "reason": "stop"}


@pytest.mark.parametrize(
    ("arguments", "check"),
    [
        (["--to", "ai-sdk", "--profile", "v7"], lambda made: check_ai_sdk(made, "v7")),
        (["--to", "ag-ui"], lambda made: check_ag_ui(made, "1.0")),
    ],
)
def test_frames_are_those_of_the_protocol(tmp_path: Path, arguments: list[str], check: Any) -> None:
    code, out, err = mobox("run", "demo", "all", *arguments, cwd=tmp_path, **FAST)
    assert (code, err) == (0, "")
    check(documents(out))


def test_frames_end_where_the_run_waits(tmp_path: Path) -> None:
    code, out, err = mobox("run", "demo", "approve", "--to", "ai-sdk", cwd=tmp_path, **FAST)
    assert code == 3
    assert err.startswith("mobox: the run waits for an answer")
    made = documents(out)
    check_ai_sdk(made)
    assert b'"tool-approval-request"' in b"".join(made)


def test_numbered_protocol_counts_on_in_a_chat(tmp_path: Path) -> None:
    numbers: list[int] = []
    for arguments in ([], ["--chat", ""]):
        if arguments:
            arguments[1] = last_of(tmp_path / ".mobox").run.chat_id
        words = ["run", "demo", "text ab", "--to", "agent-event", *arguments]
        code, out, err = mobox(*words, cwd=tmp_path, **FAST)
        assert (code, err) == (0, "")
        numbers += [json.loads(each)["eventIndex"] for each in documents(out)]
    assert numbers == list(range(len(numbers)))


def test_reader_that_closes_the_pipe_ends_the_run(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*MOBOX, "run", "demo", "flood", "--data", tmp_path / "data"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(**FAST),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"      0 All work")
        process.stdout.close()
        assert process.wait(LIMIT) == 0
        assert b"Traceback" not in process.stderr.read()
    assert agent_processes(tmp_path / "data") == []
    assert last_of(tmp_path / "data").run.status == "done"


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_closed_stdout_is_no_failure(tmp_path: Path, arguments: Sequence[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *MOBOX, "run", "demo", "tool", *arguments],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=clean_environment(**FAST),
        timeout=LIMIT,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert last_of(tmp_path / ".mobox").run.status == "done"


# In a terminal


def test_conversation_remembers_its_turns(tmp_path: Path) -> None:
    with in_terminal("run", "memory", "--agents", AGENTS, cwd=tmp_path) as terminal:
        assert 'Try: "What did I say?"' in terminal.prompt()
        terminal.enter("")  # ignored
        terminal.prompt()
        terminal.enter("one")
        terminal.wait_for("1 so far: one")
        terminal.prompt()
        terminal.enter("two\\")
        terminal.wait_for("… ")
        terminal.enter("three")
        terminal.wait_for("2 so far: one | two")
        terminal.prompt()
        terminal.type("\x1b[A\x1b[A")  # the first prompt, from the history
        terminal.wait_for("one")
        terminal.enter("")
        terminal.wait_for("3 so far: one | two")
        terminal.prompt()
        terminal.type(CTRL_D)
        terminal.wait_for("Continue with: ")
        assert terminal.end() == 0
    chat = last_of(tmp_path / ".mobox").run.chat_id
    shown = terminal.text.replace("\n", "")  # the terminal wraps a long path
    assert shown.endswith(f"mobox run memory --chat {chat} --agents {AGENTS}")
    # And another process continues it.
    with in_terminal("run", "memory", "--agents", AGENTS, "--chat", chat, cwd=tmp_path) as terminal:
        terminal.prompt()  # the message before, shown once more
        terminal.wait_for("3 so far: one | two")
        terminal.prompt()
        terminal.enter("four")
        assert "4 so far: one | two\nthree | one | four" in terminal.wait_for("| four")
        terminal.prompt()
        terminal.enter("/quit")
        assert terminal.end() == 0
    assert [each.run.chat_id for each in kept(tmp_path / ".mobox")] == [chat] * 4


def test_unknown_chat_is_an_error(tmp_path: Path) -> None:
    code, _, err = mobox("run", "demo", "x", "--chat", "nothing", cwd=tmp_path)
    assert code == 2
    assert "'nothing'" in err


def test_ctrl_c_stops_the_run_and_the_conversation_goes_on(tmp_path: Path) -> None:
    with in_terminal("run", "demo", cwd=tmp_path) as terminal:
        terminal.prompt()
        terminal.enter("slow")
        terminal.wait_for("Working, 1 of 60\x1b")
        terminal.type(CTRL_C)
        terminal.wait_for("Stopped.")
        terminal.prompt()
        terminal.enter("text still here")
        terminal.wait_for("still here")
        terminal.prompt()
        terminal.type(CTRL_C)
        terminal.wait_for("Ctrl-C again")
        terminal.prompt()
        terminal.type(CTRL_C)
        assert terminal.end() == 0
    assert [each.run.reason for each in kept(tmp_path / ".mobox")] == ["cancelled", "stop"]


def test_ctrl_c_stops_a_single_message(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "slow", cwd=tmp_path) as terminal:
        terminal.wait_for("Working, 1 of 60\x1b")
        terminal.type(CTRL_C)
        terminal.wait_for("Stopped.")
        assert terminal.end() == 130
    assert last_of(tmp_path / ".mobox").run.reason == "cancelled"


def test_second_ctrl_c_kills_an_agent_that_does_not_stop(tmp_path: Path) -> None:
    agent = tmp_path / "agents" / "stubborn"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("entry: [sh, run.sh]\n")
    (agent / "run.sh").write_text(
        "trap '' TERM INT\n"
        'echo \'{"type":"text","data":{"content":"Try me now"}}\'\n'
        "while true; do sleep 1; done\n"
    )
    with in_terminal("run", "stubborn", "x", cwd=tmp_path) as terminal:
        terminal.wait_for("Try me")
        terminal.type(CTRL_C)
        wait_until(lambda: last_of(tmp_path / ".mobox").run.stop_requested_at is not None)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert last_of(tmp_path / ".mobox").run.reason == "cancelled"
    assert agent_processes(tmp_path / ".mobox") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_run_and_the_command(tmp_path: Path, number: signal.Signals) -> None:
    with in_terminal("run", "demo", "slow", cwd=tmp_path) as terminal:
        terminal.wait_for("Working, 1 of 60\x1b")
        terminal.process.send_signal(number)
        assert terminal.end() == 128 + number
    assert last_of(tmp_path / ".mobox").run.reason == "interrupted"


def test_killed_command_leaves_a_run_that_a_server_ends(tmp_path: Path) -> None:
    data = tmp_path / ".mobox"
    with in_terminal("run", "demo", "slow", cwd=tmp_path) as terminal:
        terminal.wait_for("Working, 1 of 60\x1b")
        terminal.process.kill()
        terminal.end()
    run = last_of(data).run
    assert run.status == "running"
    with (
        live_server(data, "--agents", OURS) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        wait_until(lambda: last_of(data).run.reason == "lost")
        chat = client.get(f"/api/chats/{run.chat_id}").json()
        question, lost = chat["messages"]
        again = {"id": run.chat_id, "messages": [question], "messageId": lost["id"]}
        with client.stream(
            "POST", "/api/chat", json={**again, "trigger": "regenerate-message"}, timeout=LIMIT
        ) as response:
            assert "Working, 1 of 60" in next(
                line for line in response.iter_lines() if "Working" in line
            )
        assert last_of(data).run.kind == "retry"


# Requests


def answer_of(data: Path) -> InputResponse:
    (answer,) = [e.event for e in last_of(data).entries if isinstance(e.event, InputResponse)]
    return answer


@pytest.mark.parametrize(
    ("keys", "decision", "text"),
    [
        (["y"], "approved", "Deleted. (There was no such file.)"),
        (["what", "Y"], "approved", "Deleted. (There was no such file.)"),
        (["n because it is mine"], "denied", "OK, nothing was deleted."),
        (["r", "ok, gone"], "answered", "I used your response as the result"),
    ],
)
def test_approval_is_given_at_the_prompt(
    tmp_path: Path, keys: Sequence[str], decision: str, text: str
) -> None:
    with in_terminal("run", "demo", "approve", cwd=tmp_path, env=QUICK) as terminal:
        shown = terminal.wait_for("respond instead")
        assert "? May I delete holiday-photos.zip?\n  │ path: holiday-photos.zip\n  [y]" in shown
        for key in keys:
            terminal.wait_for("  > " if key != "ok, gone" else "Response: ")
            terminal.enter(key)
        terminal.wait_for(text)
        assert terminal.end() == 0
    assert answer_of(tmp_path / ".mobox").decision == decision
    if decision == "denied":
        assert answer_of(tmp_path / ".mobox").reason == "because it is mine"


def test_input_is_edited_on_a_line(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "approve", cwd=tmp_path, env=QUICK) as terminal:
        terminal.wait_for("  > ")
        terminal.enter("e")
        terminal.wait_for('Input: {"path": "holiday-photos.zip"}')
        terminal.enter("oops")
        terminal.wait_for("not JSON")
        terminal.wait_for("  > ")
        terminal.enter("e")
        terminal.wait_for('zip"}')
        terminal.enter('\b\b\b\b\btar"}')
        terminal.wait_for("Deleted, with your changes.")
        assert terminal.end() == 0
    assert answer_of(tmp_path / ".mobox").value == {"path": "holiday-photos.tar"}


def test_input_is_edited_in_an_editor(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/holiday/work/ "$2"\n')
    editor.chmod(0o755)
    with in_terminal(
        "run", "demo", "approve", cwd=tmp_path, env=QUICK | {"EDITOR": f"{editor} --wait"}
    ) as terminal:
        terminal.wait_for("  > ")
        terminal.enter("e")
        terminal.wait_for("Deleted, with your changes.")
        assert terminal.end() == 0
    assert answer_of(tmp_path / ".mobox").value == {"path": "work-photos.zip"}


def test_tool_is_allowed_for_the_chat(tmp_path: Path) -> None:
    with in_terminal("run", "demo", cwd=tmp_path, env=QUICK) as terminal:
        terminal.prompt()
        terminal.enter("approve")
        terminal.wait_for("respond instead")
        terminal.wait_for("  > ")
        terminal.enter("a")
        terminal.wait_for("Deleted.")
        terminal.prompt()
        terminal.enter("approve")
        terminal.wait_for("approved: allowed in this chat")
        terminal.wait_for("Deleted.")
        terminal.prompt()
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_what_was_typed_before_a_request_approves_nothing(tmp_path: Path) -> None:
    agent = tmp_path / "agents" / "late"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("")
    (agent / "run_agent.py").write_text(
        "import pathlib, time\n"
        "from shared.emitter import approve, emit_done, emit_text, emit_tool_use, read_turn\n"
        "read_turn()\n"
        "emit_text('Wait. ')\n"
        f"go = pathlib.Path({str(tmp_path / 'go')!r})\n"
        "while not go.exists():\n    time.sleep(0.01)\n"
        "emit_tool_use('rm', {}, id='c')\n"
        "emit_text('approved' if approve('c', 'Really?') else 'denied')\n"
        "emit_done()\n"
    )
    with in_terminal("run", "late", "x", cwd=tmp_path) as terminal:
        terminal.wait_for("Wait.")
        terminal.enter("y")
        (tmp_path / "go").touch()
        terminal.wait_for("  > ")
        terminal.enter("n")
        terminal.wait_for("denied")
        assert terminal.end() == 0
    assert answer_of(tmp_path / ".mobox").decision == "denied"


def test_questions_have_their_options(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "ask", cwd=tmp_path, env=QUICK) as terminal:
        shown = terminal.wait_for("number or text > ")
        assert "  Where to?\n  1. Bern  old town and bears\n  2. Lugano  palm trees\n" in shown
        terminal.enter("")
        terminal.wait_for("expected an answer")
        terminal.wait_for("> ")
        terminal.enter("2")
        terminal.wait_for("Anything you want to see?")
        terminal.wait_for("> ")
        terminal.enter("the lake")
        terminal.wait_for("Anything you want to see? **the lake**")
        assert "└ answered: Lugano, the lake" in terminal.text
        assert terminal.end() == 0


def test_request_can_be_left_and_answered_later(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "approve", cwd=tmp_path, env=QUICK) as terminal:
        terminal.wait_for("  > ")
        terminal.type(CTRL_D)
        assert terminal.end() == 3
    run = last_of(tmp_path / ".mobox").run
    assert run.status == "waiting"
    with in_terminal("run", "demo", "--chat", run.chat_id, cwd=tmp_path, env=QUICK) as terminal:
        terminal.wait_for("> approve")
        terminal.wait_for("  > ")
        terminal.enter("y")
        terminal.wait_for("Deleted.")
        terminal.prompt()
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert last_of(tmp_path / ".mobox").run.reason == "stop"


def test_answer_from_a_page_counts_if_it_comes_first(tmp_path: Path) -> None:
    data = tmp_path / ".mobox"
    with (
        in_terminal("run", "demo", "approve", cwd=tmp_path, env=QUICK) as terminal,
        live_server(data, "--agents", OURS, MOBOX_DEMO_SPEED="20") as server,
        httpx.Client(base_url=server.url, timeout=LIMIT) as client,
    ):
        terminal.wait_for("  > ")
        run = last_of(data).run
        body = {"requestId": "approval_1", "decision": "denied", "reason": "not now"}
        assert client.post(f"/api/chat/{run.chat_id}/answer", json=body).status_code == 202
        wait_until(lambda: last_of(data).run.status == "done")
        terminal.enter("y")
        terminal.wait_for("denied: not now")
        terminal.wait_for("OK, nothing was deleted.")
        assert terminal.end() == 0
    assert answer_of(data).decision == "denied"


def test_ctrl_c_at_a_request_stops_the_run(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "approve", cwd=tmp_path, env=QUICK) as terminal:
        terminal.wait_for("  > ")
        terminal.type(CTRL_C)
        terminal.wait_for("Stopped.")
        assert terminal.end() == 130
    assert last_of(tmp_path / ".mobox").run.reason == "cancelled"


# What it looks like


def test_plan_is_shown_in_place(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "todo", cwd=tmp_path, env=QUICK) as terminal:
        terminal.wait_for("All three tasks are done.")
        assert terminal.end() == 0
    done = "✔ Gather the facts\n✔ Weigh them\n✔ Write it down\n\nAll three tasks are done.\n"
    assert terminal.text.startswith(done)
    assert terminal.screen.unknown == []


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(tmp_path: Path, env: dict[str, str]) -> None:
    with in_terminal("run", "demo", "all", cwd=tmp_path, env=FAST | env) as terminal:
        terminal.wait_for("Continue with")
        assert terminal.end() == 0
    assert "\x1b[2m" not in terminal.raw
    assert "\x1b[36m" not in terminal.raw
    if "TERM" in env:
        assert "\x1b" not in terminal.raw


def test_narrow_terminal_keeps_lines_within_its_width(tmp_path: Path) -> None:
    with in_terminal("run", "demo", "all", width=30, cwd=tmp_path, env=FAST) as terminal:
        terminal.wait_for("Continue with")
        assert terminal.end() == 0
    lines = terminal.raw.replace("\r", "").split("\n")
    shown = [line for line in lines if "●" in line or "└" in line or "▪" in line]
    assert len(shown) > 8
    visible = [re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", line) for line in shown]
    assert [line for line in visible if len(line) > 30] == []
    assert "  It is 330 m tall." in terminal.text


def test_agents_cannot_control_the_terminal(tmp_path: Path) -> None:
    with in_terminal(
        "run", "hostile", "x", "--agents", AGENTS, cwd=tmp_path, env={"NO_COLOR": "1"}
    ) as terminal:
        terminal.wait_for("Continue with")
        assert terminal.end() == 0
    for word in ("status", "thought", "todo", "result", "text"):
        assert f"{word} \\x1b[2J\\x1b]0;title\\x07\\x9b31m" in terminal.text
    for unsafe in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert unsafe not in terminal.raw
    assert terminal.text.splitlines()[0].startswith("· status")  # nothing was erased


def test_agent_of_a_framework_runs_on_the_simulated_model(tmp_path: Path, frameworks: Path) -> None:
    agent = tmp_path / "agents" / "weather"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text(
        f"framework: langchain\nentry: [{frameworks}, run_agent.py]\nmodels: [anthropic]\n"
    )
    (agent / "run_agent.py").write_text(
        "from langchain.agents import create_agent\n"
        "from langchain_core.tools import tool\n"
        "from shared.frameworks.langchain import run\n"
        "@tool\n"
        "def get_weather(city: str) -> str:\n"
        '    "The weather of a city."\n'
        "    return f'21 degrees in {city}'\n"
        "run(create_agent('anthropic:claude-sonnet-4-5', [get_weather]))\n"
    )
    env = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}
    with in_terminal("run", "weather", cwd=tmp_path, env=env) as terminal:
        assert "simulated model · /help for help" in terminal.prompt()
        terminal.enter("What is the weather in Lisbon?")
        terminal.wait_for("●")
        terminal.wait_for("get_weather")
        terminal.wait_for("└ 21 degrees in")
        terminal.wait_for("simulated model · ")
        terminal.prompt()
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    assert isinstance(last_of(tmp_path / ".mobox").entries[-1].event, Done)


def test_importing_the_command_imports_neither_server_nor_yaml() -> None:
    code = (
        "import sys, mobox.cli\n"
        "try: mobox.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "names = {'asyncio', 'starlette', 'uvicorn', 'yaml', 'readline'}\n"
        "print(sorted(names & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [MOBOX[0], "-c", code], capture_output=True, text=True, env=os.environ, timeout=LIMIT
    )
    assert done.stderr == "[]\n"
