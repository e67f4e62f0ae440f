"""An agent that does what its prompt says, step by step; and gates, at which it waits for a test.

A step is a list: `["emit", type, data]`, `["flood", pieces, size]`, `["gate", port]`,
`["count", block, first, end, seconds]`, `["approve", call, then, otherwise]`,
`["decide", call, allowed]`, `["tools", count]`, `["write", path, text]`,
`["ask", request, prompt]`, `["page", call, tool, input]`, `["told"]`, `["history"]`,
`["exit", code]`.
"""

from __future__ import annotations

import json
import socket
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from server.live_server import LIMIT

Step = list[Any]

RUN_AGENT = """
    import hashlib
    import json
    import os
    import socket
    import sys
    import time
    from pathlib import Path

    from shared.emitter import approve, ask, call_frontend, emit, emit_done, emit_text, read_turn

    def gate(script, port):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.recv(1)
        return script[1:]

    def say(script, kind, data):
        emit(kind, data)
        return script[1:]

    def flood(script, pieces, size):
        for _ in range(pieces):
            emit("text_delta", {"id": "flood", "delta": "x" * size})
        return script[1:]

    def tools(script, count):
        for number in range(count):
            emit("tool_use", {"id": "t{}".format(number), "name": "step", "input": {}})
            emit("tool_result", {"tool_use_id": "t{}".format(number), "content": "ok"})
        return script[1:]

    def count(script, block, first, end, seconds):
        for number in range(first, end):
            emit("text_delta", {"id": block, "delta": "{}.{} ".format(block, number)})
            time.sleep(seconds)
        return script[1:]

    def ask_first(script, call, then, otherwise):
        allowed = approve(call, "May I?", id="may_" + call, resume=script)
        return (then if allowed else otherwise) + script[1:]

    def decide(script, call, allowed):
        answer = approve(call, "May I?", allow=allowed, id="may_" + call, resume=script)
        status = "ok" if answer else "denied" if answer["decision"] == "denied" else None
        emit("tool_result", {"tool_use_id": call, "content": "It is over.", "status": status})
        emit_text("{} with {}".format(answer["decision"], json.dumps(answer.input("the input"))))
        return script[1:]

    def question(script, request, prompt):
        told = ask(prompt, id=request, resume=script, options=["red", "blue"])
        emit_text("{decision}: {value}".format(**told))
        return script[1:]

    def page(script, call, tool, given):
        told = call_frontend(tool, given, id=call, resume=script)
        emit_text("{decision}: {value}".format(**told))
        return script[1:]

    def told(script):
        emit_text(json.dumps(read_turn().frontend))
        return script[1:]

    def history(script):
        emit_text(" ".join(message["role"] for message in read_turn().history))
        return script[1:]

    def files(script):
        turn = read_turn()
        parts = turn.parts + [part for said in turn.history for part in said["parts"]]
        for part in parts:
            if part["type"] == "file":
                emit_text(hashlib.sha256(turn.file(part)).hexdigest() + " ")
        return script[1:]

    def write(script, path, text):
        file = Path(os.environ["MOBOX_STATE"], path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return script[1:]

    def leave(script, code):
        sys.exit(code)

    STEPS = {"emit": say, "flood": flood, "count": count, "gate": gate, "approve": ask_first,
             "decide": decide, "tools": tools,
             "ask": question, "page": page, "told": told, "history": history, "exit": leave,
             "files": files, "write": write}

    try:
        turn = read_turn()
        script = turn.resume or json.loads(turn.prompt)
        while script:
            verb, *told = script[0]
            script = STEPS[verb](script, *told)
        emit_done()
    except KeyboardInterrupt:  # somebody said stop
        sys.exit(130)
"""


def write_agent(folder: Path) -> Path:
    """A folder of agents with this one in it."""
    agent = folder / "scripted"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("name: Scripted\nframework: emitted\n")
    (agent / "run_agent.py").write_text(textwrap.dedent(RUN_AGENT))
    return folder


class Gate:
    """Where an agent waits until it is let through; a context manager."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._listener.settimeout(LIMIT)
        self._held: list[socket.socket] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for opened in (self._listener, *self._held):
            opened.close()

    @property
    def step(self) -> Step:
        return ["gate", self._listener.getsockname()[1]]

    @property
    def is_occupied(self) -> bool:
        """Whether an agent that came is still held."""
        return bool(self._held)

    def open(self) -> None:
        """Wait for an agent to come, and let it through."""
        self.wait()
        self._held.pop().close()

    def wait(self) -> None:
        """Wait for an agent to come, unless one is there."""
        if not self._held:
            connection, _ = self._listener.accept()
            self._held.append(connection)


def prompt(*steps: Step) -> str:
    """The words that make the agent do these steps."""
    return json.dumps(steps)


def emit(kind: str, /, **data: object) -> Step:
    return ["emit", kind, data]


def text(words: str) -> Step:
    return emit("text", content=words)


def pieces(kind: str, block: str, words: Iterable[str], /, **more: object) -> list[Step]:
    """A block that comes word by word, and ends."""
    deltas = [emit(f"{kind}_delta", id=block, delta=f"{word} ", **more) for word in words]
    return [*deltas, emit(f"{kind}_end", id=block, **more)]


def tool(call: str, name: str, given: dict[str, object]) -> list[Step]:
    """A call whose input comes in pieces of five characters."""
    told = json.dumps(given)
    parts = [told[at : at + 5] for at in range(0, len(told), 5)]
    deltas = [emit("tool_use_delta", id=call, delta=part) for part in parts]
    start, end = emit("tool_use_start", id=call, name=name), emit("tool_use_end", id=call)
    return [start, *deltas, end]


def a_day_of_work(turns: int = 4) -> list[Step]:
    """All that an agent can say, several times: some sixty events a turn."""
    return [step for turn in range(1, turns + 1) for step in _a_turn(turn)]


def _a_turn(turn: int) -> list[Step]:
    call, search, agent = f"call_{turn}", f"search_{turn}", f"agent_{turn}"
    plan = [{"content": "Look", "status": "completed"}, {"content": "Tell", "status": "pending"}]
    thought = ["let", "me", "see", "what", "there", "is", "to", "be", "seen"]
    answer = ["it", "is", "this", "…", "and", "naïve,", "too", "✓"]
    return [
        emit("step_start", id=f"turn_{turn}", kind="turn"),
        emit("status", message=f"Turn {turn}"),
        *pieces("thinking", f"thought_{turn}", thought),
        emit("todo_create" if turn == 1 else "todo_update", items=plan),
        *tool(call, "read_file", {"path": f"/tmp/{turn}", "lines": [1, 2]}),
        emit("status", message="Reading"),
        emit("tool_result", tool_use_id=call, content={"text": "one\ntwo", "turn": turn}),
        emit("search", id=search, query="why", topic="news"),
        emit("search_result", id=search, results=[{"title": "T", "url": "https://example.org/t"}]),
        emit("tool_use", id=agent, name="task", input={"do": "research"}, kind="agent"),
        emit("subagent_start", id=agent, agent="researcher", task="research"),
        *pieces("text", f"report_{turn}", ["nothing", "new"], scope=[agent]),
        emit("subagent_end", id=agent, agent="researcher", summary="Nothing new."),
        emit("tool_result", tool_use_id=agent, content="failed", is_error=True),
        emit("think", thought="So that is that."),
        *pieces("text", f"answer_{turn}", answer),
        emit("source", url=f"https://example.org/{turn}", title="A page"),
        emit("file", media_type="text/plain", base64="aGk=", name="hi.txt"),
        emit("custom", name="chart", value={"points": [1, 2, turn]}),
        emit("state", mode="snapshot", value={"turn": turn}),
        emit("usage", input_tokens=10 * turn, output_tokens=turn),
        emit("step_end", id=f"turn_{turn}"),
    ]
