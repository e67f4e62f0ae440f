"""Searches over 10,000 chats with 20,000 answers, in a SQLite file.

A rare word is found by the index, a common one in the latest chats; a word that is nowhere and a
text of two characters are looked for in all of them. `leftover` is the first search where no
answer was folded, as after an update of an old database.
"""

from __future__ import annotations

import asyncio
import platform
import random
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.figures import Figure, Samples
from mobox.events import Done, Start, Text, TextDelta, TextEnd
from mobox.events.turn import Action, PromptText, Request, UserMessage
from mobox.storage import SqliteStorage

__all__ = ["FIGURES", "TITLE", "explain", "measure", "versions"]

TITLE = "Search: 10,000 chats with 20,000 answers"
CHATS = 10_000
ANSWERS = 2
WORDS = 300
AT_ONCE = 64
OWNER = "ann"
QUERIES = {
    "rare": "needle 7777",
    "common": "the",
    "missing": "qqqqzzzzqqqq",
    "short": "zq",
    "letters": "größen",
}

FIGURES = (
    Figure("ms/rare", "a text in one answer", unit="ms", at_most=100),
    Figure("ms/common", "a word in all answers", unit="ms", at_most=500),
    Figure("ms/missing", "a text that is nowhere", unit="ms", at_most=100),
    Figure("ms/short", "two characters that are nowhere", unit="ms", at_most=5000),
    Figure("ms/letters", "letters outside of ASCII, nowhere", unit="ms", at_most=100),
    Figure("ms/leftover", "the first search, no answer folded", unit="ms", at_most=2000),
    Figure("ms/list", "a list of chats meanwhile", unit="ms", at_most=100),
    Figure("s/leftover", "until all answers are folded and indexed again (s)", unit=""),
    Figure("mb/file", "the database with its index", unit="MB"),
)


def measure(rounds: int) -> Samples:
    """One whole run."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder) / "mobox.db", rounds))


async def _measure(path: Path, rounds: int) -> Samples:
    found: Samples = {}
    store = await SqliteStorage.open(path)
    await _fill(store)
    await store._folds.do_leftovers()  # runs ended faster than their answers were folded
    await store.close()
    found["mb/file"] = [_size(path) / 2**20]
    store = await SqliteStorage.open(path)
    for name, query in QUERIES.items():
        found[f"ms/{name}"] = [await _milliseconds(store, query) for _ in range(rounds)]
    await store.close()
    _leave_behind(path)
    store = await SqliteStorage.open(path)
    listing = asyncio.create_task(_milliseconds(store, ""))
    found["ms/leftover"] = [await _milliseconds(store, QUERIES["missing"])]
    found["ms/list"] = [await listing]
    started_at = time.perf_counter()
    await store._folds.do_leftovers()
    found["s/leftover"] = [time.perf_counter() - started_at]
    await store.close()
    return found


async def _milliseconds(store: SqliteStorage, query: str) -> float:
    started_at = time.perf_counter()
    await store.chats(OWNER, query=query)
    return (time.perf_counter() - started_at) * 1000


async def _fill(store: SqliteStorage) -> None:
    chosen = random.Random(1)
    letters = "abcdefghijklmnoprstuvwxy"
    vocabulary = ["".join(chosen.choices(letters, k=chosen.randint(2, 9))) for _ in range(20_000)]
    todo = iter(range(CHATS))

    async def fill() -> None:
        for chat in todo:
            for number in range(ANSWERS):
                words = " ".join(chosen.choices(vocabulary, k=WORDS))
                await _answer(store, chat, number, f"the {words} needle {chat}.{number}")

    await asyncio.gather(*(fill() for _ in range(AT_ONCE)))
    await _answer(store, CHATS, 0, "the needle 7777 is here")


async def _answer(store: SqliteStorage, chat: int, number: int, text: str) -> None:
    asked = PromptText(text=f"Question {number} of chat {chat}")
    message = UserMessage(id=f"u{number}", parts=(asked,))
    request = Request(chat_id=f"c{chat}", action=Action.SUBMIT, message=message)
    run = (await store.begin_turn(OWNER, request, "demo", "emitted")).run
    events = [
        Start(framework="emitted"),
        Text(id="t"),
        TextDelta(id="t", delta=text),
        TextEnd(id="t"),
        Done(reason="stop"),
    ]
    await store.append(run.id, run.epoch, events, 0)


def _size(path: Path) -> int:
    return path.stat().st_size


def _leave_behind(path: Path) -> None:
    """Forget all folds, and the index."""
    with sqlite3.connect(path) as database:
        forget = "UPDATE message SET folded_seq = 0, content = '', body = NULL WHERE run > 0"
        database.execute(forget)
        database.execute("UPDATE run SET folded = 0")
        database.execute("INSERT INTO message_search (message_search) VALUES ('delete-all')")
        again = "UPDATE counter SET value = (SELECT max(n) + 1 FROM message) WHERE name = ?"
        database.execute(again, ("searchable_from",))
    database.close()


def versions() -> Mapping[str, str]:
    """What was measured."""
    return {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version}


def explain(missed: Sequence[str]) -> str:
    """Nothing: each figure is one query."""
    return ""
