"""The default model, for conversations that choose no scenario: it uses the tools it is offered.

Rule 1: it makes a plan if there is a tool for one, searches twice, thinks, uses other tools that
        the prompt is about, delegates once, writes a file, and answers. A stage for which there is
        no tool is left out; a subagent searches once and reports.
Rule 2: the next stage is the first whose calls are not in the conversation yet. So it is the same
        for the same request, and goes on wherever a framework comes back.
Rule 3: after `MOST_ROUNDS` it answers, whatever is left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from mobox.models.simulator.answer import json_text
from mobox.models.simulator.phrases import (
    REPORT,
    answer_to,
    asks_for_title,
    file_about,
    report_of,
    task_for,
    title_for,
    topic_of,
)
from mobox.models.simulator.request import Offered, Request
from mobox.models.simulator.schema import About, value_for
from mobox.models.simulator.script import (
    MARKER,
    Cite,
    MaxTokens,
    Page,
    ServerTool,
    Step,
    Text,
    Think,
    Tool,
)
from mobox.models.simulator.todos import TodoList

MOST_ROUNDS: Final = 12
MOST_OTHERS: Final = 3
FEW: Final = 4
"""With at most so many tools, each is used whatever the prompt says."""
ROLES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, pattern in (
        ("think", r"^(think(_tool)?|reflect(ion)?|scratchpad)$"),
        ("finish", r"^(final_answer|set_model_response|structured_?output|submit\w*|finish)$"),
        ("delegate", r"^(task|agent|delegate\w*|transfer_to_\w+|handoff\w*|\w*subagent\w*)$"),
        ("quiet", r"tool_?search|bash|shell|exec|terminal|kill|delete|remove|drop|edit|notebook"
                  r"|cron|schedule|worktree|mode|skill|^(list|read)_?mcp|placeholder|^read|^ls$|glob|grep|^ask|monitor"
                  r"|task_?\w+|output|message"),
        ("search", r"search|tavily|wiki|look_?up|browse|retriev"),
        ("write", r"^(write|write_\w+|create_file|save|save_\w+)$"),
    )
)  # fmt: skip
"""What a tool is for, by its name; a quiet one is used only if the prompt names it."""
SUBAGENT: Final = re.compile(r"^\s*[-*]\s+[\"'`]?([\w-]+)[\"'`]?\s*:", re.MULTILINE)
AGENT: Final = re.compile(r"Agent name: (\S+)")
FOLDER: Final = re.compile(r"[Ww]orking directory: (\S+)")
CONTEXT: Final = "For context:"
NO_TEXTS: Final[Mapping[str, str]] = {}


def is_title_request(request: Request) -> bool:
    """Whether a framework asks for the title of a conversation beside it."""
    if request.tools or request.turn or MARKER.match(request.prompt):
        return False
    return asks_for_title(f"{request.system}\n{request.prompt}")


def default_turn(request: Request) -> Sequence[Step]:
    """The steps of the answer to any request."""
    return _limited(list(_Default(request).steps()), request.max_tokens)


class Stage(Struct, frozen=True):
    """One round: what it says, what it calls, and its line of the plan."""

    says: str
    calls: tuple[Tool, ...]
    todo: str = ""


class _Default:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._topic = topic_of(request.prompt)
        self._tools = () if request.choice == "none" else request.tools
        self._is_subagent = REPORT in request.first
        self._roles: dict[str, list[Offered]] = {}
        for tool in self._tools:
            self._roles.setdefault(_role(tool), []).append(tool)

    def steps(self) -> Iterator[Step]:
        """The steps of this turn."""
        request = self._request
        forced = next((tool for tool in self._tools if tool.name == request.choice), None)
        if forced is not None:
            yield self._call(forced, complete=True)
            return
        stage = None if self._is_notified() else self._next()
        if stage is None:
            yield from self._answer()
            return
        if request.thinks:
            yield Think(f"The request is about {self._topic}. {stage.says}")
        yield Text(stage.says)
        yield from stage.calls

    def _is_notified(self) -> bool:
        """Whether Claude Code only tells that a subagent in the background has ended."""
        messages = self._request.messages
        return bool(messages) and "<task-notification>" in messages[-1].text

    # Which stage is next

    def _next(self) -> Stage | None:
        """The first stage that was not made yet."""
        made = Counter(map(_key, self._request.called))
        needed: Counter[str] = Counter()
        rounds = sum(message.role == "assistant" for message in self._request.since)
        for stage in self._planned() if rounds < MOST_ROUNDS else ():
            needed.update(_key(call.name) for call in stage.calls)
            if any(made[name] < count for name, count in needed.items()):
                return stage
        return None

    def _planned(self) -> Iterator[Stage]:
        """All stages; each but the first updates the plan."""
        stages = list(self._stages())
        todos = self._todos([stage.todo for stage in stages])
        if todos is None or self._is_subagent or len(stages) < 2:
            yield from stages
            return
        yield Stage("I will start with a plan.", (todos.call(0),))
        for place, stage in enumerate(stages):
            calls = (todos.call(place), *stage.calls) if place else stage.calls
            yield Stage(stage.says, calls)
        yield Stage("All steps are done.", (todos.call(len(stages)),))

    def _stages(self) -> Iterator[Stage]:
        topic = self._topic
        search = self._roles.get("search", [])
        think = [self._call(tool) for tool in self._roles.get("think", [])[:1]]
        if search:
            says = f"I will search for {topic}."
            yield Stage(says, (self._call(search[0]),), f"Search for {topic}")
        if search and not self._is_subagent:
            again = self._call(search[-1], dict.fromkeys(("query", "q"), f"{topic} examples"))
            says = "One more search, to compare what was found."
            yield Stage(says, (again, *think), "Compare the sources")
        elif think:
            yield Stage("Let me think about it.", tuple(think), "Think it through")
        if others := self._others():
            names = " and ".join(tool.name for tool in others)
            yield Stage(f"I will use {names}.", tuple(map(self._call, others)), f"Use {names}")
        yield from self._last_stages()

    def _last_stages(self) -> Iterator[Stage]:
        if self._is_subagent:
            return
        for tool in self._roles.get("delegate", [])[:1]:
            if not any(CONTEXT in message.text for message in self._request.messages):
                says = "I will delegate the details."
                yield Stage(says, (self._delegation(tool),), "Delegate the details")
        for tool in self._roles.get("write", [])[:1]:
            yield Stage("I will write down the findings.", (self._file(tool),), "Write the report")

    def _others(self) -> list[Offered]:
        """The tools without a role that this prompt is about."""
        must = self._request.choice == "any"
        tools = self._roles.get("other", [])
        if not (must or len(self._tools) <= FEW):
            tools = [tool for tool in tools if self._names(tool)]
        quiet = [tool for tool in self._roles.get("quiet", []) if self._names(tool)]
        found = [tool for tool in (*tools, *quiet) if tool not in self._roles.get("plan", ())]
        return found if must else found[:MOST_OTHERS]

    def _names(self, tool: Offered) -> bool:
        """Whether the prompt has a word of the tool's name."""
        words = re.findall(r"[A-Z]?[a-z]{3,}", tool.name)
        prompt = self._request.prompt.lower()
        return any(re.search(rf"\b{word.lower()}", prompt) for word in words)

    def _todos(self, lines: list[str]) -> TodoList | None:
        for tool in self._tools:
            if found := TodoList.of(tool, lines, self._about()):
                return found
        return None

    # What it calls

    def _about(self, texts: Mapping[str, str] = NO_TEXTS, *, complete: bool = False) -> About:
        return About(self._request.prompt, self._topic, complete, texts)

    def _call(
        self, tool: Offered, texts: Mapping[str, str] = NO_TEXTS, *, complete: bool = False
    ) -> Tool:
        value = value_for(tool.schema, self._about(texts, complete=complete))
        return Tool(tool.name, value if isinstance(value, dict) else {})

    def _delegation(self, tool: Offered) -> Tool:
        task = task_for(self._topic)
        properties = tool.schema.get("properties") or {}
        texts = dict.fromkeys(("prompt", "task", "input", "request", "instructions"), task)
        texts["description"] = f"Research {self._topic}" if "prompt" in properties else task
        named = AGENT.findall(self._request.system)
        kinds = SUBAGENT.findall(tool.description) or ["general-purpose"]
        kind = next((k for k in kinds if "research" in k.lower()), kinds[0])
        texts |= {"subagent_type": kind, "agent_name": named[0] if named else kind}
        return self._call(tool, texts)

    def _file(self, tool: Offered) -> Tool:
        folder = FOLDER.search(f"{self._request.system}\n{self._request.first}")
        path = f"{folder[1].rstrip('/')}/report.md" if folder else "/report.md"
        content = file_about(self._request.prompt, self._findings())
        texts = dict.fromkeys(("content", "contents", "text"), content)
        return self._call(tool, texts | {"path": path, "file_path": path, "filename": "report.md"})

    # How it answers

    def _findings(self) -> list[tuple[str, str]]:
        """What the tools returned, but for the plan's."""
        return [
            (name, text)
            for name, text in self._request.results
            if not re.search("todo|plan|think|transfer_to", name, re.IGNORECASE)
        ]

    def _answer(self) -> Iterator[Step]:
        request = self._request
        if request.schema is not None:
            yield Text(json_text(self._structured(request.schema)))
        elif finish := self._roles.get("finish"):
            yield self._call(finish[0], {"answer": self._words()}, complete=True)
        elif request.choice == "any" and self._tools:
            yield self._call(self._tools[0])
        else:
            yield from self._text()

    def _structured(self, schema: dict[str, Any]) -> Any:
        texts = {"title": self._title()} if is_title_request(self._request) else {}
        return value_for(schema, self._about(texts, complete=True))

    def _title(self) -> str:
        return title_for([self._request.prompt, self._request.first])

    def _text(self) -> Iterator[Step]:
        request = self._request
        if is_title_request(request):
            yield Text(self._title())
            return
        if request.thinks:
            yield Think(f"I have what I need to answer about {self._topic}.")
        searches = "web_search" in request.server_tools
        page = Page("https://example.org/simulated", f"On {self._topic}", "A simulated page.")
        if searches:
            yield ServerTool("web_search", self._topic, [page])
        yield Text(self._words())
        if searches:
            yield Cite("\n\nA page that was found supports this.", page.url, page.title)

    def _words(self) -> str:
        request = self._request
        if self._is_subagent:
            return report_of(request.prompt, self._findings())
        if self._is_notified():
            return "Noted. There is nothing to add to the answer above."
        words = answer_to(request.prompt, self._findings())
        if "<code>" in request.system and "final_answer" in request.system:  # smolagents
            return f"Thought: I can answer.\n<code>\nfinal_answer({json_text(words)})\n</code>"
        return words


def _role(tool: Offered) -> str:
    if TodoList.of(tool, [], About("", "")):
        return "plan"
    return next((role for role, name in ROLES if name.search(tool.name)), "other")


def _key(name: str) -> str:
    """The name under which calls are counted: to whom a task is delegated makes no difference."""
    return "delegate" if ROLES[2][1].search(name) else name


def _limited(steps: list[Step], most: int | None) -> list[Step]:
    """The steps as far as the request's limit of tokens allows."""
    if most is None or any(isinstance(step, Tool) for step in steps):
        return steps
    kept: list[Step] = []
    room = most * 4
    for step in steps:
        text = step.text if isinstance(step, Text | Think) else ""
        if len(text) > room and isinstance(step, Text | Think):
            return [*kept, *([type(step)(text[:room])] if room else []), MaxTokens()]
        room -= len(text)
        kept.append(step)
    return kept
