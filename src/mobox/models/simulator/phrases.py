"""What the default model says: topics, titles, tasks and answers, made from the prompt."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from mobox.models.simulator.script import MARKER

REPORT: Final = "Search once, then report what you found in a few sentences."
"""How a delegated task ends, by which the subagent knows itself."""
NOTE: Final = (
    "> This answer comes from a simulated model: no provider was asked, and the text is made from"
    " your prompt. With a provider's key the same agent gets a real answer."
)

DEPTH: Final = "Research this in more depth:"

_POLITE: Final = re.compile(
    r"^(please|can you|could you|would you|tell me|show me|give me|help me(?: to)?"
    r"|i (?:want|need|would like)(?: you)? to"
    r"|what(?:'s| is| are)|who (?:is|are)|where (?:is|are)|when (?:is|are)"
    r"|how (?:do|does|can|could|to)(?: (?:i|you|we|one))?|why (?:is|are|do|does)"
    r"|explain|describe|research|find(?: out)?|search(?: for)?|look up|summari[sz]e|compare"
    r"|write(?: me)?|create|make|about|an?|the|and|on)\b[\s,:]*",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(
    r"\b(generate|write|create|suggest|give|provide|come up with|short|concise|brief|summari\w+)\b"
    r"[^.\n]{0,80}\btitle\b|\btitle\b[^.\n]{0,20}\b(chat|conversation|session)\b",
    re.IGNORECASE,
)
_GREETING: Final = re.compile(
    r"(hi|hello|hey|good (morning|evening|afternoon|day))\b", re.IGNORECASE
)
_LEADS: Final = (
    "Here is what can be said about it in a few lines.",
    "Let me go through it step by step.",
    "The short version comes first, the details after it.",
)
_POINTS: Final = (
    ("**Start small.** Look at one concrete case of {topic} before the general one.",
     "**Compare.** Two sources that disagree about {topic} say more than one alone.",
     "**Check.** Decide beforehand what would show that a claim about {topic} is wrong."),
    ("**Context.** {Topic} is best understood next to its alternatives.",
     "**Cost.** Most of the effort goes into the details, not into the idea.",
     "**Next step.** Write down one open question about {topic} and answer it first."),
)  # fmt: skip


def plain(prompt: str) -> str:
    """A prompt without markers, on one line."""
    return " ".join(MARKER.sub("", prompt).split())


def topic_of(prompt: str) -> str:
    """What a prompt is about, in at most eight words."""
    prompt = prompt.partition(REPORT)[0].rpartition(DEPTH)[2]
    first = re.split(r"(?<=[.?!])\s|\n", MARKER.sub("", prompt).strip(), maxsplit=1)[0].strip()
    while first and (shorter := _POLITE.sub("", first)) != first:
        first = shorter
    words = first.rstrip(".?!:;, ").split()
    return " ".join(words[:8]) or "your question"


def asks_for_title(text: str) -> bool:
    """Whether a text asks for the title of a conversation."""
    return _TITLE.search(text) is not None


def title_for(texts: Sequence[str]) -> str:
    """A short title for the first of the texts that is not the request for one."""
    for text in texts:
        lines = re.split(r"\n|(?<=[.?!:])\s", re.sub(r"</?[\w-]+>", "\n", text))
        told = (re.sub(r"^(user|human|assistant):\s*", "", x.strip(), flags=re.I) for x in lines)
        for line in told:
            if line and not re.search(r"\btitles?\b", line, re.IGNORECASE):
                words = topic_of(line).split()[:6]
                return " ".join(word[:1].upper() + word[1:] for word in words)
    return "New Conversation"


def task_for(topic: str) -> str:
    """The task of a subagent."""
    return f"{DEPTH} {topic}. {REPORT}"


def report_of(task: str, results: Sequence[tuple[str, str]]) -> str:
    """What a subagent reports."""
    topic = topic_of(task)
    found = "\n".join(f"- {snippet(text)}" for _, text in results if snippet(text))
    known = f"The search gave:\n\n{found}" if found else "I had no tool to search with."
    return f"**Report on {topic}.** {known}\n\nThe sources agree on the main points."


def answer_to(prompt: str, results: Sequence[tuple[str, str]]) -> str:
    """The answer to a prompt, in Markdown, with what the tools returned."""
    asked = plain(prompt)
    if _GREETING.match(asked) and len(asked) < 40:
        return _hello()
    topic = topic_of(prompt)
    number = hashlib.sha256(asked.encode()).digest()[0]
    points = _POINTS[number % len(_POINTS)]
    sections = [
        f"## {_capital(topic)}",
        f"You asked: “{shortened(asked, 160)}”. {_LEADS[number % len(_LEADS)]}",
        *_results(results),
        "### In short",
        "\n".join(f"{n}. {p.format(topic=topic, Topic=_capital(topic))}"
                  for n, p in enumerate(points, 1)),
        NOTE,
    ]  # fmt: skip
    return "\n\n".join(sections)


def file_about(prompt: str, results: Sequence[tuple[str, str]]) -> str:
    """The report that is written to a file."""
    topic = topic_of(prompt)
    lines = [f"- {snippet(text)}" for _, text in results if snippet(text)]
    found = "\n".join(lines) or "- nothing yet"
    return f"# {_capital(topic)}\n\n## Findings\n\n{found}\n\nWritten by a simulated model.\n"


def snippet(text: str) -> str:
    """The beginning of a tool's result, on one line."""
    return shortened(" ".join(text.split()), 180)


def shortened(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _results(results: Sequence[tuple[str, str]]) -> list[str]:
    told = [(name, snippet(text)) for name, text in results if snippet(text)]
    if not told:
        return []
    lines = "\n".join(f"- `{name or 'tool'}`: {text}" for name, text in told[-6:])
    return ["### What the tools returned", lines]


def _hello() -> str:
    return (
        "Hello! I am a simulated model: I answer without a provider, so that an agent can be tried"
        " and tested without a key.\n\nAsk me anything. If I am offered tools, I plan, search,"
        " delegate and write with them, and then answer with what they returned."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
