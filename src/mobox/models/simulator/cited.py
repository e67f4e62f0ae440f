"""Findings with their sources: what the default model takes from search results and from reports.

A result of a tool is read in one of three forms; others have no findings:
- Markdown: a heading, a line `Source: …`, and a text, for each page;
- JSON: a list of objects with a title, a URL and a text, also as `{"results": […]}`;
- a report of the default model itself, as a subagent has written it (`report`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

MOST_FINDINGS: Final = 4
"""Of one report."""
LONGEST: Final = 240
PAGE: Final = re.compile(
    r"^#{1,6} +([^\n]+)\n+Source: *(\S+)\s*\n(.+?)(?=^#{1,6} |\Z)", re.MULTILINE | re.DOTALL
)
TOPIC: Final = re.compile(r"\*\*Report on (.+?)\.?\*\*")
FINDING: Final = re.compile(r"^- (.+) \[(\d+)\]$", re.MULTILINE)
SOURCE: Final = re.compile(r"^- \[(\d+)\] (.+) \((\S+)\)$", re.MULTILINE)
TITLES: Final = ("title", "name")
TEXTS: Final = ("content", "text", "snippet", "body", "description")


class Finding(Struct, frozen=True):
    """Something that a source says."""

    title: str
    source: str
    """A URL, or the name of a file."""
    text: str


class Report(Struct, frozen=True):
    """Findings about one topic."""

    topic: str
    findings: tuple[Finding, ...]


def read_results(texts: Sequence[str]) -> list[Report]:
    """What these results say: a report for each subagent's, one without a topic for all others."""
    reports, pages = [], []
    for text in texts:
        topic = TOPIC.search(text)
        if topic is None:
            pages += list(_pages(text))
        elif findings := tuple(_reported(text)):
            reports.append(Report(topic[1], findings))
    found = tuple(dict.fromkeys(pages))[:MOST_FINDINGS]
    return [*([Report("", found)] if found else []), *reports]


def report(topic: str, findings: Sequence[Finding]) -> str:
    """What a subagent writes."""
    found = "\n".join(f"- {each.text} [{n}]" for n, each in enumerate(findings, 1))
    sources = "\n".join(
        f"- [{n}] {each.title} ({each.source})" for n, each in enumerate(findings, 1)
    )
    return f"**Report on {topic}.**\n\n{found}\n\nSources:\n\n{sources}"


def cited_sections(reports: Sequence[Report]) -> Iterator[str]:
    """The sections of an answer: the findings by topic, and the sources of all of them."""
    numbers: dict[Finding, int] = {}
    for each in reports:
        for finding in each.findings:
            numbers.setdefault(finding, len(numbers) + 1)
        if each.topic and len(reports) > 1:
            yield f"### {each.topic[:1].upper()}{each.topic[1:]}"
        yield "\n".join(f"- {finding.text} [{numbers[finding]}]" for finding in each.findings)
    yield "### Sources"
    yield "\n".join(f"{n}. {_linked(finding)}" for finding, n in numbers.items())


def _linked(finding: Finding) -> str:
    if finding.source.startswith(("http://", "https://")):
        return f"[{finding.title}]({finding.source})"
    return f"{finding.title} (`{finding.source}`)"


def _reported(text: str) -> Iterator[Finding]:
    sources = {number: (title, source) for number, title, source in SOURCE.findall(text)}
    for told, number in FINDING.findall(text):
        if number in sources:
            yield Finding(*sources[number], told)


def _pages(text: str) -> Iterator[Finding]:
    for title, source, told in PAGE.findall(text) or _in_json(text):
        yield Finding(title.strip(), source, _beginning(told))


def _in_json(text: str) -> Iterator[tuple[str, str, str]]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return
    items = value.get("results") if isinstance(value, dict) else value
    for item in items if isinstance(items, list) else ():
        told = _first(item, TEXTS)
        if isinstance(item, dict) and isinstance(item.get("url"), str) and told:
            yield _first(item, TITLES) or item["url"], item["url"], told


def _first(item: Any, names: Sequence[str]) -> str:
    values = (item.get(name) for name in names) if isinstance(item, dict) else ()
    return next((value for value in values if isinstance(value, str) and value), "")


def _beginning(text: str) -> str:
    """The first sentences of a text, on one line."""
    told = ""
    for sentence in re.split(r"(?<=[.!?])\s+", " ".join(text.split())):
        if told and len(told) + len(sentence) >= LONGEST:
            break
        told = f"{told} {sentence}".strip()
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1].rstrip()}…"
