"""Compares the text of a page's messages with that of the stored log.

Rule 1: only words count, that is letters and digits; what Markdown adds to them does not.
Rule 2: all that is stored is shown, each part once, its words one after the other.
Rule 3: what a subagent's card tells is told there alone: its task, and its result.
Rule 4: what the page says of itself (buttons, labels, heads) is no part of a message.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Locator

__all__ = ["missing", "plain", "shown", "stored", "words"]

Json = dict[str, Any]

READ = """
(articles) => {
  const closed = "button[aria-expanded=false]:not([aria-haspopup])";
  const folded = articles.flatMap((article) => [...article.querySelectorAll(closed)]);
  folded.forEach((each) => each.click());
  if (folded.length) return null;
  const furniture =
    "button, summary, svg, .source-mark, .code-head, .answer-head, [aria-hidden=true], .sr-only";
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(furniture)) return "";
    const inner = [...node.childNodes].map(read).join("");
    return getComputedStyle(node).display.startsWith("inline") ? inner : `\\n${inner}\\n`;
  };
  return articles.map(read);
}
"""


OPENINGS = 20
"""Blocks collapse soon after their end, so an open one may be closed at the next check."""


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def shown(articles: Locator) -> list[list[str]]:
    """The words of each article in the page, with all its blocks expanded."""
    for _ in range(OPENINGS):
        if (texts := articles.evaluate_all(READ)) is not None:
            return [words(text) for text in texts]
    raise AssertionError("something folds again however often it is opened")


def stored(message: Json) -> list[list[str]]:
    """The words of each part of a stored message that a page has to show."""
    parts = _told_once(message["parts"])
    told = (words(text) for part in parts for text in _texts(part))
    return [each for each in told if each]


def _told_once(parts: list[Json]) -> list[Json]:
    """The parts without the notes and calls that repeat the cards of subagents."""
    agents = {part["id"]: part["data"] for part in parts if part["type"] == "data-subagent"}
    notes = {_note(data, what) for data in agents.values() for what in ("task", "summary")}
    prose = {part["text"] for part in parts if part["type"] == "reasoning"}
    kept = []
    for part in parts:
        if part.get("toolCallId") in agents:
            kept += [] if part.get("output") in prose else [{**part, "input": None}]
        elif part["type"] != "reasoning" or part["text"] not in notes:
            kept.append(part)
    return kept


def _note(data: Json, what: str) -> str:
    about = f": {data[what]}" if data.get(what) else ""
    return f"{data['agent']} {'started' if what == 'task' else 'finished'}{about}"


def missing(message: Json, there: list[str]) -> list[str]:
    """The text of a stored message that its article lacks or repeats."""
    problems = []
    left = f" {' '.join(there)} "
    parts = sorted((f" {' '.join(part)} " for part in stored(message)), key=len, reverse=True)
    for part in parts:
        before, found, after = left.partition(part)
        left = f"{before} | {after}"
        if not found:
            problems.append(f"not shown: {part.strip()}")
    again = [part for part in parts if part.count(" ") > LONG and part in left]
    return problems + [f"shown again: {part.strip()}" for part in again]


LONG = 4
"""Fewer words may match by chance."""


def _texts(part: Json) -> Iterator[str]:
    reader = READERS.get(part["type"])
    if reader is not None:
        yield from reader(part)


def _prose(part: Json) -> Iterator[str]:
    yield plain(part["text"])


PLAN_LINE = re.compile(r"(?:Planned \d+ steps?|\d+ of \d+ steps? done)(?:: .*)?")


def _reasoning(part: Json) -> Iterator[str]:
    """A log, line by line; lines about the plan are in its block instead."""
    if part.get("providerMetadata", {}).get("mobox", {}).get("variant") != "processing":
        yield from _prose(part)
        return
    for line in part["text"].splitlines():
        if not PLAN_LINE.fullmatch(line):
            yield plain(line)


def _call(part: Json) -> Iterator[str]:
    about = part.get("callProviderMetadata", {}).get("mobox", {})
    if about.get("display") in ("think", "todos"):
        return  # its reasoning or its plan is shown instead
    for name in ("input", "output", "errorText"):
        yield from _leaves(part.get(name))


def _leaves(value: Any) -> Iterator[str]:
    """The values in JSON: a view of a kind of tool has its own labels instead of their names."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value)


def _subagent(part: Json) -> Iterator[str]:
    yield part["data"].get("task", "")


def _todos(part: Json) -> Iterator[str]:
    for item in part["data"].get("items", ()):
        yield item["content"]


READERS: dict[str, Callable[[Json], Iterator[str]]] = {
    "text": _prose,
    "reasoning": _reasoning,
    "dynamic-tool": _call,
    "data-subagent": _subagent,
    "data-todos": _todos,
}

MARKDOWN = (
    (r"<<\{.*?\}>>", ""),  # a chart
    (r"(?m)^\s*(```+|~~~+).*$", ""),  # the fence, and the language of what it fences
    (r"!\[[^\]]*\]\([^)]*\)", ""),  # a picture
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),  # a link
    (r"(?m)^(\s*)\d+[.)] ", r"\1"),  # the number of an item
    (r"(?m)^(\s*[-*+]) \[[ xX]\] ", r"\1"),  # the box of a task
)


def plain(markdown: str) -> str:
    """The text without its formatting."""
    for pattern, instead in MARKDOWN:
        markdown = re.sub(pattern, instead, markdown)
    return html.unescape(markdown)
