"""What a prompt asks the default model to do: by the words in it, and by the names of tools.

Rule 1: a prompt that names what to do (a tool, a subagent, a file to write, a search) gets only
        that. All stages are for a prompt that names nothing, or asks for research.
Rule 2: a tool is named by a word of its name. A tool that changes something is named only by the
        word that says so: "order 7" names `get_order`, but not `cancel_order`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mobox.models.simulator.phrases import FILE, REPORT, compared_in, is_greeting, plain

QUIET: Final = re.compile(
    r"tool_?search|bash|shell|exec|terminal|kill|delete|remove|drop|edit|notebook|cancel|refund"
    r"|purchase|export|publish|cron|schedule|worktree|mode|skill|^(list|read)_?mcp|placeholder|^read|^ls$|glob"
    r"|grep|^ask|monitor|task_?\w+|output|message",
    re.IGNORECASE,
)
"""Names of tools that are used only if the prompt names them."""
RESEARCH: Final = re.compile(r"\b(research|report|compare|investigate)\b", re.IGNORECASE)
PLAN: Final = re.compile(r"\b(plan|to-?dos?)\b", re.IGNORECASE)
SEARCH: Final = re.compile(r"\b(search|look up|on the web)\b", re.IGNORECASE)
WRITE: Final = re.compile(r"\b(write|save|create|put)\b", re.IGNORECASE)
DELEGATE: Final = re.compile(r"\b(sub-?agents?|delegate|hand (\w+ )?(over|off))\b", re.IGNORECASE)
NOT_A_NAME: Final = frozenset(("get", "the", "and", "agent", "tool", "transfer", "handoff"))


class Intent:
    """What one prompt asks for; `agents` are the names of subagents."""

    def __init__(self, prompt: str, agents: Sequence[str] = ()) -> None:
        self._prompt = plain(prompt.partition(REPORT)[0])
        self.is_greeting = is_greeting(prompt)
        self.compared = compared_in(prompt)
        """The two or three things that it compares."""
        self.is_research = RESEARCH.search(self._prompt) is not None
        self.plans = PLAN.search(self._prompt) is not None
        self.searches = SEARCH.search(self._prompt) is not None
        self.writes = bool(WRITE.search(self._prompt) and FILE.search(self._prompt))
        self.agent = next((name for name in agents if self._has_agent(name)), None)
        """The subagent that it names."""
        self.delegates = self.agent is not None or DELEGATE.search(self._prompt) is not None

    def part(self, about: re.Pattern[str]) -> str:
        """The part of the prompt that has such a word; else all of it."""
        parts = re.split(r"[,.;:!?]\s|,? (?:and|then) ", self._prompt)
        return next((part for part in parts if about.search(part)), self._prompt)

    def part_about(self, tool: str) -> str:
        """The part of the prompt that names a tool; else all of it."""
        return self.part(re.compile("|".join([*_words(tool)]) or "$^", re.IGNORECASE))

    def names(self, tool: str) -> bool:
        """Whether the prompt names a tool."""
        return any(re.search(word, self._prompt, re.IGNORECASE) for word in _words(tool))

    def saves(self, tool: str) -> bool:
        """Whether the prompt wants something to be written, of the kind that a tool writes."""
        kinds = [word for word in _words(tool) if not WRITE.search(word[2:])]
        is_kind = any(re.search(kind, self._prompt, re.IGNORECASE) for kind in kinds)
        return is_kind and WRITE.search(self._prompt) is not None

    def _has_agent(self, name: str) -> bool:
        """With an article: some are called as an everyday word, such as `Plan`."""
        return re.search(rf"\b(the|a|an|your) {re.escape(name)}\b", self._prompt) is not None


def _words(tool: str) -> list[str]:
    """The words that name a tool, as patterns of their beginning."""
    quiet = QUIET.search(tool)
    words = [quiet[0]] if quiet else re.findall(r"[A-Z]?[a-z]{3,}", tool)
    return [rf"\b{re.escape(word)}" for word in words if word.lower() not in NOT_A_NAME]


def number_near(prompt: str, tool: str) -> str:
    """The number that a prompt gives after a word of a tool's name, else its first; "1" if none.

    Only whole numbers of three to twelve digits are ids: "order 1042", but not "2 mugs".
    """
    for word in [*re.findall(r"[A-Z]?[a-z]{3,}", tool), ""]:
        start = rf"\b{re.escape(word.lower())}\w*\W+(?:\w+\W+){{0,2}}?" if word else ""
        if word.lower() not in NOT_A_NAME and (
            found := re.search(rf"{start}#?\b(\d{{3,12}})\b", plain(prompt).lower())
        ):
            return found[1]
    return "1"
