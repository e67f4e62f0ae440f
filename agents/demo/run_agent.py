"""A scripted agent without a model: each command shows one kind of event.

    python run_agent.py tool        (in an environment that has Mobox)

It waits 15 ms per character and 600 ms per step; `MOBOX_DEMO_SPEED=2` is twice as fast, 0 does not
wait at all. Ids are fixed, so that a command always emits the same events.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable

from shared.emitter import (
    approve,
    ask,
    call_frontend,
    emit,
    emit_chart,
    emit_done,
    emit_error,
    emit_file,
    emit_search,
    emit_search_result,
    emit_source,
    emit_start,
    emit_status,
    emit_step_end,
    emit_step_start,
    emit_subagent_complete,
    emit_subagent_start,
    emit_text,
    emit_think,
    emit_todo_create,
    emit_todo_done,
    emit_todo_update,
    emit_tool_result,
    emit_tool_use,
    emit_usage_total,
    read_turn,
)
from tour import TOUR

CHARACTER, STEP = 0.015, 0.6
lengths: list[int] = []  # of all pieces, for the usage
SPEED = float(os.environ.get("MOBOX_DEMO_SPEED") or 1)


def wait(seconds: float) -> None:
    """Sleep, scaled by `MOBOX_DEMO_SPEED`."""
    if SPEED > 0:
        time.sleep(seconds / SPEED)


def stream(pieces: Iterable[str], emit_piece: Callable[[str], None] = emit_text) -> None:
    """Emit the pieces as deltas."""
    for piece in pieces:
        emit_piece(piece)
        lengths.append(len(piece))
        wait(CHARACTER * len(piece))


def words(text: str) -> list[str]:
    """The text in pieces of about the size that models stream."""
    return [word for line in text.splitlines(True) for word in _split(line)]


def _split(line: str) -> list[str]:
    first, *others = line.split(" ")
    return [first, *(f" {word}" for word in others)]


# The commands


def step(_: str) -> None:
    """Three steps."""
    for number, name in enumerate(("Reading the question", "Searching", "Writing"), 1):
        started = emit_step_start(name, id=f"step_{number}")
        wait(STEP)
        emit_step_end(started)
    stream(words("Three steps, one after the other."))


def tool(_: str) -> None:
    """A call whose input streams."""
    call, given = "call_weather", {"city": "Zürich", "days": 3}
    emit("tool_use_start", {"id": call, "name": "get_weather"})
    stream(_thirds(json.dumps(given)), lambda d: emit("tool_use_delta", {"id": call, "delta": d}))
    emit("tool_use_end", {"id": call, "input": given})
    wait(STEP)
    emit_tool_result(call, {"forecast": ["sun", "clouds", "rain"], "high": [24, 21, 17]})
    stream(words("Sun today, clouds tomorrow, and rain the day after."))


def _thirds(text: str) -> list[str]:
    size = math.ceil(len(text) / 3)
    return [text[at : at + size] for at in range(0, len(text), size)]


def text(argument: str) -> None:
    """The words given, one character at a time."""
    stream(argument or "Type `text` and some words to get them back.")


def code(argument: str) -> None:
    """A block of code."""
    stream(f"```javascript\n{argument or 'console.log(1 + 1)'}\n```\n")


def error(_: str) -> None:
    """An error."""
    emit_status("About to fail...")
    wait(STEP)
    emit_error("This is what a failure looks like.", code="demo_error")


def think(_: str) -> None:
    """Reasoning of a model, then of a think tool."""
    thought = "The question is short, so a short answer is enough if it is right."
    stream(words(thought), lambda d: emit("thinking_delta", {"id": "thought_1", "delta": d}))
    emit("thinking_end", {"id": "thought_1"})
    emit_think("Checked it once more: still short.")
    wait(STEP)
    stream(words("That was my reasoning."))


def todo(_: str) -> None:
    """A plan, ticked off step by step."""
    plan = ["Gather the facts", "Weigh them", "Write it down"]
    emit_todo_create(plan)
    for index, item in enumerate(plan):
        emit_todo_update(
            [{"content": each, "status": _state(index, n)} for n, each in enumerate(plan)]
        )
        wait(STEP)
        emit_todo_done(item, index)
    stream(words("All three tasks are done."))


def _state(doing: int, index: int) -> str:
    if index == doing:
        return "in_progress"
    return "completed" if index < doing else "pending"


def subagent(_: str) -> None:
    """A subagent that searches and reports."""
    call, task = "call_research", "Find out how tall the Eiffel Tower is"
    within = [call]
    emit_tool_use("task", {"agent": "researcher", "description": task}, id=call, kind="agent")
    emit_subagent_start("researcher", task, id=call)
    emit_search("Eiffel Tower height", id="call_search", scope=within)
    wait(STEP)
    found = [{"title": "The tower", "url": "https://www.toureiffel.paris/en"}]
    emit_search_result(found, id="call_search", scope=within)
    report = {"id": "report", "scope": within}
    stream(words("It is 330 m tall."), lambda d: emit("text_delta", {**report, "delta": d}))
    emit("text_end", report)
    emit_subagent_complete("researcher", "330 m", id=call)
    emit_tool_result(call, "It is 330 m tall.")
    stream(words("The researcher found: 330 metres."))


def chart(_: str) -> None:
    """A chart from a tool's result that the text refers to, and a chart event."""
    call = emit_tool_use("query_range", {"query": "rate(requests[5m])"}, id="call_chart")
    wait(STEP)
    points = [[1700000000 + 60 * n, f"{50 + 30 * math.sin(n / 4):.1f}"] for n in range(30)]
    series = {"metric": {"job": "api"}, "values": points}
    matrix = {"resultType": "matrix", "result": [series]}
    emit_tool_result(call, {"status": "success", "data": matrix})
    stream(words("Requests over the last half hour:\n\n"))
    emit_text(f'<<{{"type":"promql","tool_call_id":"{call}"}}>>')
    emit_chart({"title": "Requests", **matrix})


def cite(_: str) -> None:
    """An answer with its sources."""
    block = {"id": "cited"}
    for claim, url, title in (
        ("Water boils at 100 °C at sea level", "https://example.org/water", "Water"),
        (", and at about 71 °C on Everest.", "https://example.org/everest", "Everest"),
    ):
        stream(words(claim), lambda d: emit("text_delta", {**block, "delta": d}))
        emit_source(url, title, id="cited", cited_text=claim.strip(", "))
    emit("text_end", block)


def file(_: str) -> None:
    """An image and a table."""
    emit_file("image/png", _picture(32), name="gradient.png")
    emit_file("text/csv", b"city,high\nZurich,24\nBern,22\n", name="weather.csv")
    stream(words("An image and a table, generated just now."))


def _picture(size: int) -> bytes:
    """A square of colours as PNG, uncompressed: the output of zlib differs between versions."""
    rows = (bytes([0, *(c for x in range(size) for c in (8 * x, 8 * y, 160))]) for y in range(size))
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(b"".join(rows), 0),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def ask_first(_: str) -> None:
    """A tool call that needs approval.

    The answer may come to this process or, with our `resume` value, to a new one, which must not
    emit the call again.
    """
    call, given = "call_delete", {"path": "holiday-photos.zip"}
    if not read_turn().resume:
        emit_tool_use("delete_file", given, id=call)
    resume = {"command": "approve"}
    question = "May I delete holiday-photos.zip?"
    allow = ["approve", "edit", "reject", "respond"]
    answer = approve(call, question, id="approval_1", allow=allow, resume=resume)
    if answer["decision"] == "edited":
        emit_tool_result(call, {"deleted": answer.input(given)})
        stream(words("Deleted, with your changes. (There was no such file either.)"))
    elif answer:
        emit_tool_result(call, "deleted")
        stream(words("Deleted. (There was no such file.)"))
    elif answer["decision"] == "answered":
        emit_tool_result(call, answer["value"])
        stream(words("Thanks. I used your response as the result and deleted nothing."))
    else:
        emit_tool_result(call, "The user denied this.", status="denied")
        stream(words("OK, nothing was deleted."))


def question(_: str) -> None:
    """Questions for the user: one with options, one with free text."""
    cities = {"Bern": "old town and bears", "Lugano": "palm trees", "Zermatt": "one mountain"}
    options = [{"label": city, "description": known} for city, known in cities.items()]
    questions = [
        {"question": "Where to?", "options": options},
        {"question": "Anything you want to see?"},
    ]
    answer = ask(
        "Before I plan your weekend:",
        id="question_1",
        options={"questions": questions},
        resume={"command": "ask"},
    )
    if answer["decision"] != "answered":
        stream(words("Then it will be a surprise."))
        return
    stream(words("Noted:\n\n" + "".join(f"- {line}\n" for line in _answers(answer.get("value")))))


def _answers(value: object) -> list[str]:
    """One line per answer, with its question if there is one."""
    answers = value.get("answers") if isinstance(value, dict) else None
    if not isinstance(answers, dict):
        return [str(value)]
    return [f"{question} **{answer}**" for question, answer in answers.items()]


def page(argument: str) -> None:
    """A frontend tool: the one named, else the first, if the page has any."""
    turn = read_turn()
    tools = [tool["name"] for tool in turn.frontend["tools"]]
    if not tools and not turn.resume:
        stream(words("This page has no tools to call."))
        return
    name = argument if argument in tools else (tools or ["tool"])[0]
    answer = call_frontend(name, {}, id="call_page", resume={"command": f"page {argument}"})
    if answer["decision"] == "answered":
        stream(words(f"The page returned: {answer['value']}"))
    else:
        stream(words("The page could not do that."))


def slow(_: str) -> None:
    """A minute of work."""
    for number in range(60):
        emit_status(f"Working, {number + 1} of 60")
        wait(1)
    stream(words("That took a while."))


def crash(_: str) -> None:
    """An uncaught exception."""
    stream(words("Watch this: "))
    raise RuntimeError("the demo crashed on purpose")


def hang(_: str) -> None:
    """No output for ever."""
    emit_status("Hanging...")
    while True:
        time.sleep(3600)


def flood(argument: str) -> None:
    """Very many lines."""
    for number in range(int(argument) if argument.isdigit() else 20_000):
        emit_text(f"{number:>7} All work and no play makes a dull demo: one line of the flood.\n")


def everything(_: str) -> None:
    """Most commands in one answer."""
    for name in ("step", "think", "todo", "tool", "subagent", "chart", "cite", "file"):
        COMMANDS[name]("")
        emit_text("\n\n")
    code("")


def tour(_: str) -> None:
    """The welcome text, with the list of commands."""
    emit_status("Looking up what I can do...")
    wait(STEP)
    stream(words(TOUR))


COMMANDS: dict[str, Callable[[str], None]] = {
    "step": step,
    "tool": tool,
    "text": text,
    "code": code,
    "error": error,
    "think": think,
    "todo": todo,
    "subagent": subagent,
    "chart": chart,
    "cite": cite,
    "file": file,
    "approve": ask_first,
    "ask": question,
    "page": page,
    "slow": slow,
    "crash": crash,
    "hang": hang,
    "flood": flood,
    "all": everything,
}


def main() -> None:
    """Run the command of the turn."""
    turn = read_turn()
    command = (turn.resume or {}).get("command") or turn.prompt
    name, _, argument = command.strip().partition(" ")
    if not turn.resume:
        emit_start(simulated=True, prompt_preview=turn.prompt[:80])
    COMMANDS.get(name.lower(), tour)(argument.strip())
    emit_usage_total(input_tokens=len(command) // 4 + 1, output_tokens=sum(lengths) // 4)
    emit_done()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # stopped
        sys.exit(130)
