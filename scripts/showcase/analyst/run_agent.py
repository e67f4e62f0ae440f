"""The scripted agent of scripts/screenshots: it answers a few known questions."""

import math
import os
import time
from pathlib import Path

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


FOUND = [
    {
        "title": "Retries that make an outage worse",
        "url": "https://eng.example.org/retries",
        "content": "A client that tries again at once doubles the load of a slow service.",
    },
    {
        "title": "Backups without locks",
        "url": "https://db.example.org/backups",
        "content": "A snapshot takes no lock on the tables that it reads.",
    },
]
REPORT = """# The backup

The nightly backup locks the table of orders for 40 minutes.

| option | effort | effect |
| --- | --- | --- |
| snapshot instead of a dump | 1 day | no lock |
| dump at 04:00 | none | fewer orders wait |

**Take the snapshot.** The other option only moves the problem.
"""


def use(name: str, given: dict[str, object], result: object, seconds: float, call: str) -> None:
    """Call a tool, which takes so many seconds."""
    emit_tool_use(name, given, id=call)
    time.sleep(seconds)
    emit_tool_result(call, result)


def report() -> None:
    """A longer piece of work: searches, commands, two subagents at once, and files."""
    emit_status("Reading the incident")
    think("First what others did, then our own numbers.", 0.6)
    use("internet_search", {"query": "database backup without lock"}, FOUND, 0.5, "s1")
    use("internet_search", {"query": "retry storms"}, FOUND[:1], 0.3, "s2")
    for number, (name, task) in enumerate(
        (("reader", "Read the runbook of the backup"), ("counter", "Count the orders that waited"))
    ):
        agent = emit_tool_use("task", {"agent": name}, id=f"sub{number}", kind="agent")
        emit_subagent_start(name, task, id=agent)
    for number, (tool, given, result) in enumerate(
        (
            ("read_file", {"path": "runbooks/backup.md"}, "1\tpg_dump orders\n2\tgzip\n"),
            (
                "sql",
                {"query": "select hour, count(*) as waited from orders group by hour"},
                [{"hour": "00", "waited": 31}, {"hour": "01", "waited": 4}],
            ),
        )
    ):
        scope = [f"sub{number}"]
        emit("tool_use", {"id": f"w{number}", "name": tool, "input": given, "scope": scope})
        time.sleep(0.5)
        emit("tool_result", {"tool_use_id": f"w{number}", "content": result, "scope": scope})
    for number, words in enumerate(("It runs `pg_dump`.", "35 orders waited.")):
        emit("subagent_end", {"id": f"sub{number}", "status": "ok", "summary": words})
        emit_tool_result(f"sub{number}", words)
    use(
        "bash",
        {"command": "grep -c 'lock timeout' checkout.log"},
        "31\n[Command succeeded with exit code 0]",
        0.7,
        "b1",
    )
    emit_tool_use("bash", {"command": "ls /var/backups/now"}, id="b2")
    emit_tool_result("b2", "No such file or directory", is_error=True)
    change = {"old_string": "pg_dump orders", "new_string": "pg_basebackup --checkpoint=fast"}
    use("Edit", {"file_path": "runbooks/backup.md", **change}, "Edited", 0.2, "e1")
    folder = Path(os.environ["MOBOX_STATE"])
    (folder / "report.md").write_text(REPORT)
    (folder / "waiting.csv").write_text("hour,orders,waited\n00,412,31\n01,388,4\n")
    write(
        "The backup **locks the orders for 40 minutes**. A snapshot takes no lock; it is a day of "
        "work. The report and the numbers are in two files."
    )
    emit_usage_total(42_180, 2_904, cost_usd=0.1127)


def crash() -> None:
    """An agent that fails."""
    write("I'll read the ledger first.")
    raise FileNotFoundError("ledger.db: no such file")


def anything_else() -> None:
    """A short answer, for the chat list."""
    write("Here is what I found.")


KNOWN = {
    "report": report,
    "ledger": crash,
    "checkout": checkout,
    "search": slow_search,
    "roll": roll_back,
}

prompt = read_turn().prompt.lower()
next((answer for word, answer in KNOWN.items() if word in prompt), anything_else)()
emit_done()
