"""Whether a page shows what was stored: the words of its messages, compared with those of the log.

Rule 1: only words count, that is letters and digits; what Markdown adds to them does not.
Rule 2: all that is stored is shown, each part once, its words one after the other.
Rule 3: what the page says of itself (buttons, labels, heads) is no part of a message.
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
  const furniture = "button, summary, svg, .source-mark, .code-head, [aria-hidden=true], .sr-only";
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(furniture)) return "";
    const inner = [...node.childNodes].map(read).join("");
    return getComputedStyle(node).display.startsWith("inline") ? inner : `\\n${inner}\\n`;
  };
  return articles.map(read);
}
"""


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def shown(articles: Locator) -> list[list[str]]:
    """The words of each article in the page, with all that can be opened in them opened."""
    folded = articles.locator("button[aria-expanded=false]:not([aria-haspopup])")
    while folded.count():
        folded.evaluate_all("(all) => all.forEach((each) => each.click())")
    return [words(text) for text in articles.evaluate_all(READ)]


def stored(message: Json) -> list[list[str]]:
    """The words of each part of a stored message that a page is to show."""
    told = (words(text) for part in message["parts"] for text in _texts(part))
    return [each for each in told if each]


def missing(message: Json, there: list[str]) -> list[str]:
    """What of a stored message is not among the words of its article, or is there twice."""
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
"""Fewer words may stand anywhere by chance."""


def _texts(part: Json) -> Iterator[str]:
    reader = READERS.get(part["type"])
    if reader is not None:
        yield from reader(part)


def _prose(part: Json) -> Iterator[str]:
    yield plain(part["text"])


def _call(part: Json) -> Iterator[str]:
    about = part.get("callProviderMetadata", {}).get("mobox", {})
    if about.get("display") in ("think", "todos"):
        return  # its thought or its plan is shown instead
    for name in ("input", "output", "errorText"):
        value = part.get(name)
        if value not in (None, {}, ""):
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _todos(part: Json) -> Iterator[str]:
    for item in part["data"].get("items", ()):
        yield item["content"]


READERS: dict[str, Callable[[Json], Iterator[str]]] = {
    "text": _prose,
    "reasoning": _prose,
    "dynamic-tool": _call,
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
    """The text without what is there only for its look."""
    for pattern, instead in MARKDOWN:
        markdown = re.sub(pattern, instead, markdown)
    return html.unescape(markdown)
