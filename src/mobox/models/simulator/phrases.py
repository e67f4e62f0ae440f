"""What the default model says: topics, titles, tasks and answers, made from the prompt."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from mobox.models.simulator.charts import chart_in, charts_in
from mobox.models.simulator.cited import cited_sections, read_results, report
from mobox.models.simulator.script import MARKER

REPORT: Final = "Search, then report what you found, with its sources."
"""How a delegated task ends, by which the subagent knows itself."""
NOTE: Final = (
    "> This answer comes from a simulated model: no provider was asked, and the text is made from"
    " your prompt. With a provider's key the same agent gets a real answer."
)

DEPTH: Final = "Research this in more depth:"

_POLITE: Final = re.compile(
    r"^(please|can you|could you|would you|tell me|show me|give me|help me(?: to)?"
    r"|i (?:want|need|would like)(?: you)? to"
    r"|let (?:the )?[\w-]+|ask (?:the )?[\w-]+(?: to)?|perform a web search for the query"
    r"|what(?:'s| is| are| does| do)|who (?:is|are)|where (?:is|are)|when (?:is|are)"
    r"|how (?:do|does|did|can|could|to)(?: (?:i|you|we|one))?|why (?:is|are|do|does|did)"
    r"|explain|describe|research|find(?: out)?|search(?: for)?|look up|summari[sz]e|compare"
    r"|analy[sz]e|write(?: me)?|create|make|about|an?|the|and|on)\b[\s,:]*",
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
_COMPARED: Final = re.compile(
    r"\b(?:compare|comparison (?:of|between)|differences? between) ([^.?!\n]+)", re.IGNORECASE
)
_VERSUS: Final = re.compile(r"^([^.?!\n]+ (?:vs\.?|versus) [^.?!\n]+)", re.IGNORECASE)
_BETWEEN: Final = re.compile(
    r"\s*,\s*(?:and |or )?|\s+(?:and|with|to|or|vs\.?|versus)\s+", re.IGNORECASE
)
_REST: Final = re.compile(
    r"[,;:]? (?:for|in|when|regarding|by|on|under|as)\b.*|[;:].*", re.IGNORECASE
)
"""In which respect things are compared."""
FILE: Final = re.compile(r"[\w./-]*\w\.(?:md|txt|csv|json|html?|py|ya?ml)\b")
"""A file that a prompt names."""
_ASIDE: Final = re.compile(
    rf",? (?:and|then|to|into|in|as) (?:sum|explain|tell|{FILE.pattern}).*", re.IGNORECASE
)
"""What a prompt says about the answer, after what it is about."""
_CLAUSE: Final = re.compile(r"^((?:[^\s,]+ ){2,}[^\s,]+),.*")
"""Three words or more before a comma: what follows is another wish."""
MOST_WORDS: Final = 10
MOST: Final = 180
"""Characters of a result that are told."""
_LIST: Final = re.compile(r"^\s*[-*] (?=\S)", re.MULTILINE)
_AROUND: Final = re.compile(
    r"^.*\[Subagent hand-back\].*?The report follows:|agentId: \w+\s*(<usage>.*)?\Z"
    r"|^Web search results for query: \".*?\"\s*(Links: \[.*?\])?|REMINDER: .*\Z"
    r"|\(file state is current.*?\)|^ *\d+\t(?:#+ )?|^#+ ",
    re.DOTALL | re.MULTILINE,
)
"""What Claude Code writes around a result and before each line, and the marks of headings."""
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


def compared_in(prompt: str) -> list[str]:
    """The two or three things that a prompt compares; nothing if it does not."""
    found = _COMPARED.search(plain(prompt)) or _VERSUS.search(plain(prompt))
    if found is None:
        return []
    listed = _POLITE.sub("", _REST.sub("", found[1])).strip(" .?!:")
    things = [each.strip() for each in _BETWEEN.split(listed) if each.strip()]
    return things if len(things) in (2, 3) and all(len(each) <= 60 for each in things) else []


def topic_of(prompt: str) -> str:
    """What a prompt is about, in a few words."""
    prompt = prompt.partition(REPORT)[0].rpartition(DEPTH)[2]
    first = re.split(r"(?<=[.?!])\s|\n", MARKER.sub("", prompt).strip(), maxsplit=1)[0].strip()
    first = _ASIDE.sub("", first)
    while first and (shorter := _POLITE.sub("", first)) != first:
        first = shorter
    first = _CLAUSE.sub(r"\1", first)
    words = first.rstrip(".?!:;, ").split()
    return " ".join(words[:MOST_WORDS]) or "your question"


def is_greeting(prompt: str) -> bool:
    """Whether a prompt only greets."""
    return _GREETING.match(plain(prompt)) is not None and len(plain(prompt)) < 40


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
    return f"{DEPTH} {topic if topic.endswith('?') else f'{topic}.'} {REPORT}"


def question_for(prompt: str) -> str:
    """The prompt as the task of another agent."""
    return f"{shortened(plain(prompt), 300)} {REPORT}"


def report_of(task: str, results: Sequence[tuple[str, str]]) -> str:
    """What a subagent reports."""
    topic = topic_of(task)
    known = read_results([text for _, text in results])
    if cited := [finding for each in known for finding in each.findings]:
        return report(topic, cited)
    found = "\n".join(f"- {snippet(text, 2 * MOST)}" for _, text in results if snippet(text))
    told = f"The search gave:\n\n{found}" if found else "I had no tool to search with."
    return f"**Report on {topic}.** {told}\n\nThe sources agree on the main points."


def answer_to(prompt: str, results: Sequence[tuple[str, str]], *, is_short: bool = False) -> str:
    """The answer to a prompt, in Markdown, with what the tools returned; a short one only that."""
    asked = plain(prompt)
    if is_greeting(prompt):
        return _hello()
    topic = topic_of(prompt)
    if found := _shown(results):
        heading = asked.rstrip(".") if len(asked) <= 80 else _capital(topic)
        return "\n\n".join([f"## {heading}", *found, NOTE])
    number = hashlib.sha256(asked.encode()).digest()[0]
    points = _POINTS[number % len(_POINTS)]
    if is_short:
        lead = f"Here is what came of “{shortened(asked, 160)}”:"
        return "\n\n".join([lead, *_results(results)[1:], NOTE])
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


def _shown(results: Sequence[tuple[str, str]]) -> list[str]:
    """The charts in the results, or what they say with its sources; nothing if there is neither."""
    texts = [text for _, text in results]
    if charts := charts_in(texts):
        shown = [each for chart in charts for each in (chart.placeholder, chart.summary) if each]
        others = [(name, text) for name, text in results if chart_in(text) is None]
        return ["Here is what the data says.", *shown, *_results(others)[1:]]
    if reports := read_results(texts):
        return ["Here is what was found.", *cited_sections(reports)]
    return []


def file_about(prompt: str, results: Sequence[tuple[str, str]]) -> str:
    """The report that is written to a file."""
    topic = topic_of(prompt)
    lines = [_line(text) for _, text in results if snippet(text)]
    if not lines:
        points = "\n".join(f"- [ ] {each} point" for each in ("First", "Second", "Third"))
        return f"# {_capital(topic)}\n\n{points}\n\nWritten by a simulated model.\n"
    found = "\n".join(lines)
    return f"# {_capital(topic)}\n\n## Findings\n\n{found}\n\nWritten by a simulated model.\n"


def _line(text: str) -> str:
    chart = chart_in(text)
    return f"- {snippet(text)}" if chart is None else chart.summary or f"- {chart.title}"


def snippet(text: str, most: int = MOST) -> str:
    """The beginning of a tool's result, on one line; of a subagent's report more."""
    plain_text = _LIST.sub("", _AROUND.sub("", text))
    is_report = plain_text.startswith("**Report on ")
    return shortened(" ".join(plain_text.split()), 3 * MOST if is_report else most)


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
