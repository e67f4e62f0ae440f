"""The page as a person has it: an answer that comes very fast, and a chat that is very long.

All of it is real: an agent's process, `mobox serve`, a browser. The browser itself says which of
its tasks were long; one of more than 50 ms is one that a person may feel.
"""

from __future__ import annotations

import asyncio
import json
import platform
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import Browser, Page

from bench.browsing import browsed, served, write_agent
from bench.figures import Figure, Samples
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.settings import OWNER, Settings
from mobox.storage import Storage, open_storage
from mobox.supervisor.run_writer import RunWriter

__all__ = ["FIGURES", "TITLE", "explain", "fill_chat", "flood", "measure", "reopen", "versions"]

TITLE = "Page: an agent's deltas → a browser"

DELTAS, SECONDS = 10_000, 10.0
MESSAGES = 500
PATIENCE = 120_000
"""Milliseconds in which anything here should long have happened."""

_TASKS = "Long tasks of the page (less is better)"
_OPEN = "Opening a chat of 500 messages (less is better)"

FIGURES = (
    Figure("flood/tasks", "10,000 deltas in 10 s: long tasks", unit="", panel=_TASKS),
    Figure("flood/longest", "10,000 deltas in 10 s: the longest", unit="ms"),
    Figure("flood/blocked", "10,000 deltas in 10 s: time beyond 50 ms", unit="ms"),
    Figure("flood/late", "10,000 deltas in 10 s: shown after the last came", unit="ms"),
    Figure("open/last", "500 messages: until the last is seen", unit="ms", panel=_OPEN),
    Figure("open/tasks", "500 messages: time beyond 50 ms", unit="ms", panel=_OPEN),
    Figure("open/nodes", "500 messages: elements in the page", unit=""),
)

# Late lines are sent at once, so that the pace is kept whatever the machine does.
AGENT = """
    import json
    import time

    from shared.emitter import emit, emit_done, read_turn

    told = json.loads(read_turn().prompt)
    pieces, seconds = told["pieces"], told["seconds"]
    begun = time.monotonic()
    for number in range(told["deltas"]):
        late = time.monotonic() - begun - number * seconds / told["deltas"]
        if late < 0:
            time.sleep(-late)
        emit("text_delta", {"id": "t", "delta": pieces[number % len(pieces)]})
    emit("text_delta", {"id": "t", "delta": "\\n\\nThe very end at %.3f." % time.time()})
    emit("text_end", {"id": "t"})
    emit_done()
"""

PARAGRAPHS = """
## A heading now and then

Words come one after the other, *some* of them **louder** than others, with a [link](https://example.org)
and `code` between them, as models like to do it.

| city | high | low |
| --- | --: | --: |
| Zürich | 24 | 13 |
| Genève | 26 | 15 |

1. one thing
2. another thing
   - and a detail of it

```python
def answer(question: str) -> int:
    return len(question) * 42  # as good as any
```

"""
PIECES = [
    word for line in PARAGRAPHS.splitlines(True) for word in line.replace(" ", " \0").split("\0")
]

OBSERVE = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) longTasks.push(task.duration);
}).observe({ type: "longtask", buffered: true });
"""


def measure(rounds: int) -> Samples:
    """One whole run; a round takes 10 s, so a third of them do."""
    found: Samples = {}
    with tempfile.TemporaryDirectory() as folder:
        data, agents = Path(folder, "data"), write_agent(Path(folder), AGENT)
        fill_chat(data, "long", MESSAGES)  # before the browser, beside which no other loop can run
        with served(data, agents) as url, browsed() as browser:
            for _ in range(max(1, rounds // 3)):
                seen = {**flood(browser, url, DELTAS, SECONDS), **reopen(browser, url, "long")}
                for key, value in seen.items():
                    found.setdefault(key, []).append(value)
    return found


def versions() -> Mapping[str, str]:
    """What was measured with."""
    with browsed() as browser:
        chromium = browser.version
    return {
        "Python": platform.python_version(),
        "Chromium": chromium,
        "playwright": version("playwright"),
    }


def explain(missed: Sequence[str]) -> str:
    """Nothing: there are no targets but those of people."""
    return ""


def flood(browser: Browser, url: str, deltas: int, seconds: float) -> dict[str, float]:
    """An answer that comes fast, as its page lives through it."""
    page = _page(browser)
    page.goto(url)
    prompt = json.dumps({"deltas": deltas, "seconds": seconds, "pieces": PIECES})
    composer = page.get_by_role("textbox").last
    composer.fill(prompt)
    page.evaluate("longTasks.length = 0")
    composer.press("Enter")
    end = page.get_by_text("The very end at").last
    end.wait_for(timeout=PATIENCE + seconds * 1000)
    seen = page.evaluate("Date.now()")
    told = float(end.inner_text().split("The very end at ")[1].strip().rstrip("."))
    tasks: list[float] = page.evaluate("longTasks")
    page.context.close()
    return {
        "flood/tasks": len(tasks),
        "flood/longest": max(tasks, default=0.0),
        "flood/blocked": _beyond(tasks),
        "flood/late": seen - told * 1000,
    }


def reopen(browser: Browser, url: str, chat_id: str) -> dict[str, float]:
    """A long chat that is opened in a browser that has nothing yet."""
    page = _page(browser)
    page.goto(f"{url}/chat/{chat_id}", wait_until="commit")
    page.get_by_text("The end of this chat.").wait_for(timeout=PATIENCE)
    seen: float = page.evaluate("performance.now()")
    page.wait_for_load_state("networkidle")
    tasks: list[float] = page.evaluate("longTasks")
    nodes: int = page.evaluate("document.querySelectorAll('*').length")
    page.context.close()
    return {"open/last": seen, "open/tasks": _beyond(tasks), "open/nodes": nodes}


def _page(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(OBSERVE)
    return context.new_page()


def _beyond(tasks: Sequence[float]) -> float:
    return sum(task - 50 for task in tasks)


def fill_chat(data: Path, chat_id: str, messages: int) -> None:
    """A chat of so many messages: questions, and answers with a thought, a call and a text."""
    data.mkdir(parents=True, exist_ok=True)
    asyncio.run(_fill(data, chat_id, messages // 2))


async def _fill(data: Path, chat_id: str, turns: int) -> None:
    storage = await open_storage(Settings(data=data).database)
    try:
        for turn in range(1, turns + 1):
            await _answer(storage, chat_id, turn, is_last=turn == turns)
    finally:
        await storage.close()


async def _answer(storage: Storage, chat_id: str, turn: int, *, is_last: bool) -> None:
    message = UserMessage(id=f"ask-{turn}", parts=(PromptText(text=f"Question {turn}?"),))
    request = Request(chat_id=chat_id, action=Action.SUBMIT, message=message)
    begun = await storage.begin_turn(OWNER, request, "bench", "emitted")
    scribe = await RunWriter.take_up(storage, begun.run)
    scribe.listen()
    for kind, told in _said(turn, is_last):
        await scribe.read(json.dumps({"type": kind, "data": told}).encode() + b"\n")
    await scribe.finish_reading()
    await scribe.end(None)


def _said(turn: int, is_last: bool) -> list[tuple[str, dict[str, object]]]:
    call = f"call-{turn}"
    ending = "The end of this chat." if is_last else f"That was answer {turn}."
    return [
        ("thinking_delta", {"id": "thought", "delta": "Let me look at this first. " * 5}),
        ("thinking_end", {"id": "thought"}),
        ("tool_use", {"id": call, "name": "get_weather", "input": {"city": "Zürich"}}),
        ("tool_result", {"tool_use_id": call, "content": {"high": turn, "low": 3}}),
        ("text", {"content": PARAGRAPHS + ending}),
        ("done", {}),
    ]
