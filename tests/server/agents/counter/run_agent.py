"""Counts aloud at a brisk pace, in the manner that the first word of the prompt asks for."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from shared.emitter import (
    ask,
    emit,
    emit_done,
    emit_status,
    emit_subagent_start,
    emit_text,
    emit_tool_use,
    read_turn,
)

PACE = 0.02


def count() -> None:
    """Numbered pieces, until somebody stops it."""
    for number in range(1_000_000):
        emit_text(f"{number} ")
        time.sleep(PACE)


def until_go() -> None:
    """Numbered pieces, until there is a file `go`."""
    for number in range(1_000_000):
        emit_text(f"{number} ")
        time.sleep(PACE)
        if Path(os.environ["MOBOX_STATE"], "go").exists():
            return


def tool() -> None:
    """One call without a result, and one whose input has not come yet."""
    emit_tool_use("search", {"query": "numbers"}, id="call_open")
    emit("tool_use_start", {"id": "call_streams", "name": "write"})
    emit("tool_use_delta", {"id": "call_streams", "delta": '{"text": "'})
    count()


def subagent() -> None:
    """Counts in a subagent that never reports."""
    emit_tool_use("task", {"agent": "helper"}, id="call_task", kind="agent")
    emit_subagent_start("helper", "Count", id="call_task")
    within = {"id": "nested", "scope": ["call_task"]}
    emit("text_delta", {**within, "delta": "I am nested. "})
    count()


def grandchild() -> None:
    """Leaves a process in another session."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    count()


def stubborn() -> None:
    """Hears neither stop nor TERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    count()


def silent() -> None:
    """Nothing more to be heard."""
    emit_status("Thinking for long")
    time.sleep(1000)


def flood() -> None:
    """More than a reader who has stalled can take."""
    for _ in range(200):
        emit_text("x" * 65536)
    time.sleep(1000)


def question() -> None:
    """Needs to know something; the answer may come to this process or to another."""
    answer = ask("How many?", id="ask_1", resume={"asked": True})
    emit_text(f"{answer['value']} it is.")


def stubborn_question() -> None:
    """Asks, and takes being ended for a reason to talk."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ask("How many?", id="ask_1", resume={"asked": True})
    count()


def hello() -> None:
    """A short one."""
    emit_text("Hello again.")


COMMANDS = {
    command.__name__: command
    for command in (
        count,
        until_go,
        tool,
        subagent,
        grandchild,
        stubborn,
        silent,
        flood,
        question,
        stubborn_question,
        hello,
    )
}

if __name__ == "__main__":
    turn = read_turn()
    try:
        COMMANDS["question" if turn.resume else turn.prompt.split()[0]]()
    except KeyboardInterrupt:
        sys.exit(130)
    emit_done()
