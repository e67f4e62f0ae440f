"""The default model, for conversations that choose no scenario: it uses the tools it is offered.

Rule 1: it makes a plan if there is a tool for one, searches twice, thinks after each search, uses
        other tools that the prompt is about, delegates, writes a file, and answers. A stage for
        which there is no tool is left out; a subagent that cannot think searches once. An agent
        without a search delegates each thing that a prompt compares, all at once. If the prompt
        names what to do, only that is done (intent.py).
Rule 2: the next stage is the first whose calls are not in the conversation yet. So it is the same
        for the same request, and goes on wherever a framework comes back, also as another agent.
Rule 3: after `MOST_ROUNDS` it answers, whatever is left.
Rule 4: an agent that wants Python gets it (code_agents.py): first a small program, then searches,
        and other tools, agents and files only if the prompt names them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from mobox.models.simulator.answer import json_text
from mobox.models.simulator.cited import Report, read_results
from mobox.models.simulator.code_agents import (
    PYTHON,
    CodeAgent,
    answer_of,
    any_program,
    program_for,
)
from mobox.models.simulator.intent import QUIET, SEARCH, Intent, number_near
from mobox.models.simulator.named_values import named_values
from mobox.models.simulator.phrases import (
    FILE,
    REPORT,
    answer_to,
    asks_for_title,
    file_about,
    plain,
    question_for,
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
SHORT: Final = 100
"""With at most so many tools, each is used whatever the prompt says."""
ROLES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, pattern in (
        ("think", r"^(think(_tool)?|reflect(ion)?|scratchpad)$"),
        ("finish", r"^(final_answer|set_model_response|structured_?output|submit\w*|finish)$"),
        ("delegate", r"^(task|agent|delegate\w*|transfer_to_\w+|handoff\w*|\w*subagent\w*)$"),
        ("quiet", QUIET.pattern),
        ("search", r"search|tavily|wiki|look_?up|browse|retriev"),
        ("write", r"^(write|write_\w+|create_file|save|save_\w+)$"),
    )
)
"""What a tool is for, by its name; a quiet one is used only if the prompt names it."""
SUBAGENT: Final = re.compile(r"^\s*[-*]\s+[\"'`]?([\w-]+)[\"'`]?\s*:", re.MULTILINE)
LISTED: Final = re.compile(r"^Available agent types.*?(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
"""Claude Code lists its subagents in a message."""
AGENT: Final = re.compile(r"Agent name: (\S+)")
FOLDER: Final = re.compile(r"[Ww]orking directory: (\S+)")
CONTEXT: Final = "For context:"
EXPORT: Final = re.compile(r"export|publish", re.IGNORECASE)
ONLY_SEARCH: Final = "Perform a web search for the query:"
"""By which Claude Code's tool for searches asks the provider for its own."""
NO_TEXTS: Final[Mapping[str, str]] = {}


def is_title_request(request: Request) -> bool:
    """Whether a framework asks for the title of a conversation beside it."""
    if request.tools or request.turn or MARKER.match(request.prompt):
        return False
    return asks_for_title(f"{request.system}\n{request.prompt}")


def default_turn(request: Request) -> Sequence[Step]:
    """The steps of the answer to any request."""
    code = CodeAgent.of(request)
    if code is None:
        steps = _Default(request).steps()
    else:
        steps = code.write(_Default(code.with_tools(request), writes_code=True).steps())
    return _limited(list(steps), request.max_tokens)


class Stage(Struct, frozen=True):
    """One round: what it says, what it calls, and its lines of the plan."""

    says: str
    calls: tuple[Tool, ...]
    todos: tuple[str, ...] = ()
    """Without any it belongs to the stage before."""


class _Default:
    def __init__(self, request: Request, *, writes_code: bool = False) -> None:
        self._request = request
        self._writes_code = writes_code
        self._topic = topic_of(request.prompt)
        self._tools = () if request.choice == "none" else request.tools
        self._is_subagent = REPORT in request.first
        self._roles: dict[str, list[Offered]] = {}
        for tool in self._tools:
            self._roles.setdefault(_role(tool), []).append(tool)
        self._plan_tools = {tool.name for tool in self._roles.get("plan", ())}
        self._agents = self._named_agents()
        self._intent = Intent(request.prompt, self._agents)
        self._asked = self._asked_roles()

    def _named_agents(self) -> list[str]:
        """The subagents of which the request tells."""
        listed = LISTED.findall(self._request.system)
        texts = [*(tool.description for tool in self._roles.get("delegate", ())), *listed]
        found = [name for text in texts for name in SUBAGENT.findall(text)]
        return [*AGENT.findall(self._request.system), *found]

    def _asked_roles(self) -> frozenset[str]:
        """What of its tools the prompt names; nothing means all stages."""
        intent = self._intent
        is_research = intent.is_research and not self._writes_code
        if self._is_subagent or is_research or self._request.choice == "any":
            return frozenset()
        writes = intent.writes or any(map(intent.saves, self._names_of("write")))
        wanted = {"search": intent.searches, "write": writes, "delegate": intent.delegates}
        asked = {role for role, is_wanted in wanted.items() if is_wanted and role in self._roles}
        for role, group in (("delegate", "delegate"), ("other", "other"), ("other", "quiet")):
            if any(map(intent.names, self._names_of(group))):
                asked.add(role)
        return frozenset(asked)

    def _names_of(self, role: str) -> list[str]:
        return [tool.name for tool in self._roles.get(role, ())]

    def _does(self, role: str) -> bool:
        is_default = not self._asked and (role == "search" or not self._writes_code)
        return is_default or role in self._asked

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
        used = (call.name for call in stage.calls if call.name not in self._plan_tools)
        says = stage.says or f"I will use {_joined(used)}."
        if request.thinks and not request.called:
            yield Think(f"The request is about {self._topic}. {says}")
        yield Text(says)
        yield from stage.calls

    def _is_notified(self) -> bool:
        """Whether Claude Code only tells that a subagent in the background has ended."""
        messages = self._request.messages
        return bool(messages) and "<task-notification>" in messages[-1].text

    # Which stage is next

    def _next(self) -> Stage | None:
        """The first stage that was not made yet, without the calls of it that were."""
        made = Counter(map(_key, self._request.called))
        roles = groupby(message.role for message in self._request.since)
        rounds = sum(role == "assistant" for role, _ in roles)
        if rounds >= MOST_ROUNDS or self._intent.is_greeting:
            return None
        stages = list(self._stages())
        plan = self._plan(stages)
        for stage in _with_plan(stages, plan):
            missing = tuple(call for call in stage.calls if not _is_made(call, made))
            if missing:
                return replace(stage, calls=missing)
        finished = self._finished_plan(plan)
        return None if finished is None else Stage("All steps are done.", (finished,))

    def _plan(self, stages: list[Stage]) -> TodoList | None:
        """The plan of these stages, if this agent is to make one."""
        todos = self._todos([line for stage in stages for line in stage.todos])
        is_wanted = self._intent.plans if self._asked else len(stages) > 1
        if todos is None or not stages or self._is_subagent or not is_wanted:
            return None
        written = todos.written(self._request.since)
        return None if written is not None and not todos.is_like(written) else todos

    def _finished_plan(self, plan: TodoList | None) -> Tool | None:
        """The call that completes the plan, also one that another agent has made."""
        todos = plan or (None if self._is_subagent else self._todos([]))
        written = todos.written(self._request.since) if todos is not None else None
        if todos is None or (written is not None and todos.is_done(written)):
            return None
        if written is not None:
            return todos.completed(written)
        is_made = plan is not None and plan.tool.name in self._request.called
        return plan.call(len(plan.lines)) if plan is not None and is_made else None

    def _stages(self) -> Iterator[Stage]:
        if (code := self._program()) is not None:
            program = Tool(PYTHON, {"code": code})
            yield Stage("I will start with a small program.", (program,), ("Compute",))
        yield from self._searches()
        others, quiet = self._others()
        apart = [[each] for each in (*others, *quiet)]
        for group in apart if self._intent.plans else [others, quiet]:
            if group:
                calls = tuple(self._call(tool, self._content(tool)) for tool in group)
                yield Stage("", calls, (_joined(map(_readable, group)),))
        yield from self._last_stages()

    def _program(self) -> str | None:
        """The code that an agent writes of its own, beside calls of tools."""
        if not self._writes_code or self._is_subagent:
            return None
        prompt, uses_tools = self._request.prompt, self._asked or "search" in self._roles
        return program_for(prompt) or (None if uses_tools else any_program(prompt))

    def _searches(self) -> Iterator[Stage]:
        intent = self._intent
        topic = topic_of(intent.part(SEARCH)) if intent.searches else self._topic
        search = self._roles.get("search", []) if self._does("search") else []
        thinks = self._roles.get("think", [])[:1]
        if search:
            says = f"I will search for {topic}."
            first = self._call(search[0], dict.fromkeys(("query", "q"), topic))
            yield Stage(says, (first,), (f"Search for {topic}",))
            yield from self._thoughts("What is missing are examples: I will search for these next.")
        elif thinks:
            yield Stage("Let me think about it.", (self._call(thinks[0]),), ("Think it through",))
        if search and not self._asked and (thinks or not self._is_subagent):
            again = self._call(search[-1], dict.fromkeys(("query", "q"), f"{topic} examples"))
            says = "One more search, to compare what was found."
            yield Stage(says, (again,), ("Compare the sources",))
            yield from self._thoughts("The sources agree on the main points: this is enough.")

    def _thoughts(self, conclusion: str) -> Iterator[Stage]:
        """A thought after a search, if there is a tool for it."""
        found = [each for report in self._reports() for each in report.findings]
        titles = "; ".join(dict.fromkeys(each.title for each in found)) or "something"
        thought = f"The search for {self._topic} found: {titles}. {conclusion}"
        for tool in self._roles.get("think", [])[:1]:
            yield Stage("Let me think about it.", (self._call(tool, {"thought": thought}),))

    def _last_stages(self) -> Iterator[Stage]:
        if self._is_subagent:
            return
        delegates = self._roles.get("delegate", []) if self._does("delegate") else []
        for tool in sorted(delegates, key=lambda each: not self._intent.names(each.name))[:1]:
            if not any(CONTEXT in message.text for message in self._request.messages):
                yield from self._delegations(tool)
        for tool in self._roles.get("write", [])[:1] if self._does("write") else ():
            file = FILE.search(self._request.prompt)
            says, todo = "I will write down the findings.", "Write the report"
            if file is not None:
                says, todo = f"I will write {file[0]}.", f"Write {file[0]}"
            yield Stage(says, (self._file(tool),), (todo,))

    def _delegations(self, tool: Offered) -> Iterator[Stage]:
        """One task; several at once for a comparison, if the agent has no search of its own."""
        to = self._delegate(tool)
        says = f"I will delegate this to the {to}."
        if self._asked or "search" in self._roles or tool.name.startswith("transfer_to_"):
            yield Stage(says, (self._delegation(tool, self._topic),), (f"Delegate to the {to}",))
            return
        about = self._intent.compared or [self._question()]
        if len(about) > 1:
            says = f"I will start a {to} for each of them, all at the same time."
        calls = tuple(self._delegation(tool, each) for each in about)
        yield Stage(says, calls, tuple(f"Research: {each}" for each in about))
        if "write" not in self._roles:
            yield Stage("I will put the findings together.", (), ("Write the report",))

    def _question(self) -> str:
        """The prompt, if it is short; else what it is about."""
        asked = plain(self._request.prompt)
        return asked if len(asked) <= SHORT else self._topic

    def _others(self) -> tuple[list[Offered], list[Offered]]:
        """The tools without a role that this prompt is about; quiet ones come after the others."""
        must = self._request.choice == "any"
        tools = self._roles.get("other", []) if self._does("other") else []
        if self._asked or not (must or len(self._tools) <= FEW):
            tools = [tool for tool in tools if self._intent.names(tool.name)]
        quiet = [tool for tool in self._roles.get("quiet", []) if self._intent.names(tool.name)]
        if must:
            return tools, quiet
        return tools[:MOST_OTHERS], quiet[: max(0, MOST_OTHERS - len(tools))]

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
        named = named_values(self._request.prompt, _properties(tool))
        given = {**self._paths(), **self._task(tool), **named, **texts}
        about = replace(
            self._about(given, complete=complete),
            number=number_near(self._request.prompt, tool.name),
        )
        value = value_for(tool.schema, about)
        return Tool(tool.name, value if isinstance(value, dict) else {})

    def _paths(self) -> dict[str, str]:
        """The file that the prompt names, in the folder that the framework tells."""
        file = FILE.search(self._request.prompt)
        named = file[0] if file else "report.md"
        path = f"{self._folder()}/{named.lstrip('/')}"
        return {"path": path, "file_path": path, "filename": named}

    def _folder(self) -> str:
        found = FOLDER.search(f"{self._request.system}\n{self._request.first}")
        return found[1].rstrip("/") if found else ""

    def _task(self, tool: Offered) -> dict[str, str]:
        """What is asked of a tool that is another agent."""
        task = question_for(self._intent.part_about(tool.name))
        return dict.fromkeys(("input", "request", "task"), task) if _is_agent(tool) else {}

    def _delegate(self, tool: Offered) -> str:
        """To whom a tool delegates."""
        if tool.name.startswith("transfer_to_") and "agent_name" not in _properties(tool):
            return tool.name.removeprefix("transfer_to_").replace("_", " ")
        research = [name for name in self._agents if "research" in name.lower()]
        return self._intent.agent or next(iter([*research, *self._agents]), "general-purpose")

    def _delegation(self, tool: Offered, about: str) -> Tool:
        task = task_for(about)
        texts = dict.fromkeys(("prompt", "task", "input", "request", "instructions"), task)
        texts["description"] = f"Research {about}" if "prompt" in _properties(tool) else task
        named = dict.fromkeys(("subagent_type", "agent_name"), self._delegate(tool))
        call = self._call(tool, texts | named)
        known = {name: text for name, text in named.items() if name in _properties(tool)}
        return replace(call, input={**call.input, **known})

    def _file(self, tool: Offered) -> Tool:
        content = file_about(self._request.prompt, self._findings())
        return self._call(tool, dict.fromkeys(("content", "contents", "text"), content))

    def _content(self, tool: Offered) -> dict[str, str]:
        """The findings, for a tool that exports them."""
        if not EXPORT.search(tool.name):
            return {}
        return {"text": file_about(self._request.prompt, self._findings())}

    # How it answers

    def _findings(self) -> list[tuple[str, str]]:
        """What the tools returned, but for the plan's."""
        folder = self._folder()
        return [
            (name, text.replace(f"{folder}/", "") if folder else text)
            for name, text in self._request.results
            if not re.search("todo|plan|think|transfer_to", name, re.IGNORECASE)
        ]

    def _reports(self) -> list[Report]:
        return read_results([text for _, text in self._findings()])

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
        if request.thinks and not request.called:
            yield Think(f"I have what I need to answer about {self._topic}.")
        searches = "web_search" in request.server_tools
        page = Page("https://example.org/simulated", f"On {self._topic}", "A simulated page.")
        if searches:
            yield ServerTool("web_search", self._topic, [page])
        if request.prompt.startswith(ONLY_SEARCH):
            yield Cite(f"A simulated page about {self._topic}.", page.url, page.title)
            return
        yield Text(self._words())
        if searches:
            yield Cite("\n\nA page that was found supports this.", page.url, page.title)

    def _words(self) -> str:
        request = self._request
        if self._is_subagent:
            return report_of(request.prompt, self._findings())
        if self._is_notified():
            return "Noted. There is nothing to add to the answer above."
        if self._writes_code:
            return answer_of(request.prompt, self._findings())
        return answer_to(request.prompt, self._findings(), is_short=bool(self._asked))


def _role(tool: Offered) -> str:
    if TodoList.of(tool, [], About("", "")):
        return "plan"
    return next((role for role, name in ROLES if name.search(tool.name)), "other")


def _key(name: str) -> str:
    """The name under which calls are counted: to whom a task is delegated makes no difference."""
    return "delegate" if ROLES[2][1].search(name) else name


def _is_made(call: Tool, made: Counter[str]) -> bool:
    """Whether a call is one of those that were made, which counts then no more."""
    made[_key(call.name)] -= 1
    return made[_key(call.name)] >= 0


def _with_plan(stages: list[Stage], plan: TodoList | None) -> Iterator[Stage]:
    """The stages; with a plan each but the first updates it."""
    if plan is None:
        yield from stages
        return
    done = 0
    yield Stage("I will start with a plan.", (plan.call(0, len(stages[0].todos)),))
    for stage in stages:
        is_new = done and stage.todos
        update = (plan.call(done, len(stage.todos)),) if is_new else ()
        yield replace(stage, calls=(*update, *stage.calls))
        done += len(stage.todos)


def _properties(tool: Offered) -> Mapping[str, Any]:
    return tool.schema.get("properties") or {}


def _is_agent(tool: Offered) -> bool:
    """Whether a tool is another agent: OpenAI's, ADK's and smolagents' have these inputs."""
    names = {*_properties(tool)}
    is_openai = tool.schema.get("title") == "AgentAsToolInput"
    return is_openai or names in ({"request"}, {"task", "additional_args"})


def _readable(tool: Offered) -> str:
    words = tool.name.rpartition("__")[2].replace("_", " ")
    return words[:1].upper() + words[1:]


def _joined(names: Iterable[str]) -> str:
    return " and ".join(names)


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
