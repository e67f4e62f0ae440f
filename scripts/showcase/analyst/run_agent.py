"""The scripted agent of scripts/screenshots: it answers a few known questions."""

import math
import time

from shared.emitter import (
    approve,
    emit,
    emit_chart,
    emit_done,
    emit_source,
    emit_status,
    emit_subagent_start,
    emit_todo_create,
    emit_tool_result,
    emit_tool_use,
    emit_usage_total,
    read_turn,
)

START = 1_763_244_000
UNTIL_THE_PICTURE_IS_TAKEN = 120


def think(text: str, seconds: float, *, ends: bool = True) -> None:
    """Stream reasoning over so many seconds."""
    words = text.split(" ")
    for word in words:
        emit("thinking_delta", {"id": "thought", "delta": f"{word} "})
        time.sleep(seconds / len(words))
    if ends:
        emit("thinking_end", {"id": "thought"})


def write(text: str, block: str = "answer") -> None:
    """Stream text of the answer."""
    for word in text.split(" "):
        emit("text_delta", {"id": block, "delta": f"{word} "})
    emit("text_end", {"id": block})


def checkout() -> None:
    """Reasoning, a tool call, a chart and an answer with sources."""
    emit_status("Connecting to the metrics")
    think("Latency first, then errors. If both rose at the same time, it is one cause.", 2.2)
    call = emit_tool_use("query_range", {"query": "p95(checkout_seconds)", "step": "15m"}, id="q1")
    time.sleep(0.4)
    emit_tool_result(call, {"series": 2, "points": 66})
    write("The checkout was slow for **40 minutes**, and nobody lost an order:")
    emit_chart(
        {"title": "Checkout, 95th percentile (s)", "resultType": "matrix", "result": night()}
    )
    write(
        "- It began at 00:10 with the backup of the order database, and ended with it. "
        "\n- Of 1,204 orders none failed; 31 were tried twice.\n\n",
        "findings",
    )
    emit_source("https://runbooks.example.org/backup", "Runbook: nightly backup")
    emit_source("https://status.example.org/2025-11-16", "Status of 16 November")
    emit_usage_total(18_240, 1_312, cost_usd=0.0461)


def night() -> list[dict[str, object]]:
    """The latency of two services, one of which had an incident."""

    def at(minute: int, usual: float, bump: float) -> str:
        swing = 0.04 * math.sin(minute / 23 + usual * 9) + 0.02 * math.sin(minute / 7)
        return f"{usual + swing + bump * math.exp(-(((minute - 150) / 26) ** 2)):.3f}"

    minutes = range(0, 330, 10)
    return [
        {
            "metric": {"job": name},
            "values": [[START + 60 * minute, at(minute, usual, bump)] for minute in minutes],
        }
        for name, usual, bump in (("checkout", 0.52, 1.25), ("search", 0.23, 0.06))
    ]


def slow_search() -> None:
    """In the middle of a plan, with a subagent at work."""
    emit_status("Reading the last 14 days")
    plan = ["Compare the releases", "Look at slow queries", "Find who calls them", "Write it up"]
    states = ["completed", "in_progress", "pending", "pending"]
    emit_todo_create(plan)
    emit(
        "todo_update",
        {
            "items": [
                {"content": item, "status": state} for item, state in zip(plan, states, strict=True)
            ]
        },
    )
    write("Two releases went out on Monday. The second one changed how results are ranked.")
    agent = emit_tool_use("task", {"agent": "profiler"}, id="sub1", kind="agent")
    emit_subagent_start("profiler", "Profile the ranking of 200 searches", id=agent)
    emit("tool_use", {"id": "p1", "name": "run_profile", "input": {"n": 200}, "scope": [agent]})
    think(
        "The ranking queries each result's stock, one at a time. With 50 results that is "
        "50 queries where one would do, so the time grows with the length of the list",
        2,
        ends=False,
    )
    time.sleep(UNTIL_THE_PICTURE_IS_TAKEN)


def roll_back() -> None:
    """A tool call that needs approval."""
    emit_status("Reading the release")
    write("Version 4.2.1 is what made the search slow. I can put 4.2.0 back; it takes a minute.")
    call = emit_tool_use("roll_back", {"service": "search", "to": "4.2.0"}, id="rb1")
    if approve(call, "Roll the search back to 4.2.0?", resume={"at": "roll back"}):
        emit_tool_result(call, "done")
    write("OK.", "end")


def anything_else() -> None:
    """A short answer, for the chat list."""
    write("Here is what I found.")


KNOWN = {"checkout": checkout, "search": slow_search, "roll": roll_back}

prompt = read_turn().prompt.lower()
next((answer for word, answer in KNOWN.items() if word in prompt), anything_else)()
emit_done()
