"""Watches the calls of an agent and of the agents that it manages: shown, stored, asked about.

smolagents streams neither the calls that code makes nor the work of managed agents, and knows no
approvals. So a turn works with a copy of the agent, whose tools and managed agents report here.

Rule 1: a copy has its own memory and variables: an agent of an app serves several chats at once,
        and a managed agent may be called several times at once.
Rule 2: a call that code makes is shown as a call of its own: `<id of the code>.<number>`.
Rule 3: all calls of one message that have to be asked about are asked together.
Rule 4: a denied call is not made: code ends there, and an agent without code gets the reason as its
        result. So the next lines of code do not run as if the call had been made.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from ..objects import Objects
from ..output import plain
from .smolagents_asking import (
    Answer,
    Asked,
    Person,
    asked_of,
    calling,
    new_request,
    outcome_of,
    unwrapped,
)
from .smolagents_memory import Call, Journal

__all__ = ["AgentRun", "Watch", "as_text"]

FINAL = "final_answer"
SANITIZE = "sanitize_inputs_outputs"
"""An argument that is the agent's, not the model's."""
MOST_SHOWN = 200
"""Calls of one piece of code that are shown and stored; a loop may make any number."""
MOST_OUTPUT = 20_000
"""Characters of a result that are stored, for a process that is killed."""


class CallDenied(Exception):
    """A person did not allow a call of code."""


class Watch(NamedTuple):
    """What all agents of a turn share."""

    sdk: Any
    journal: Journal
    person: Person
    put: Callable[[Any], None]
    """Emits a step in a thread of an agent; returns when it is emitted."""


class AgentRun:
    """One run of an agent: the root's, or that for one call of a managed agent."""

    def __init__(
        self,
        watch: Watch,
        agent: Any,
        call: Call | None = None,
        within: tuple[str, ...] = (),
        tools: dict[str, Any] | None = None,
    ) -> None:
        self._watch, self._within = watch, within
        self._agents = [] if call is None else [*call.agents, call.name]
        self._scope = [] if call is None else [*call.scope, call.id]
        self._prefix = "" if call is None else f"{call.id}/"
        self._task = "" if call is None else str(call.arguments.get("task") or "")
        self._lock = threading.RLock()
        self._added: set[str] = set()
        """Calls that smolagents does not show."""
        self._begin_message()
        self.agent = self._copy(agent, tools or {})

    def _begin_message(self) -> None:
        self._is_announced = False
        self._code = ""
        """The call that is the current code."""
        self._made = 0
        self._expected: list[Call] = []
        """Calls of the model's message that were not begun."""
        self._to_ask: dict[str, tuple[Call, Asked]] = {}
        self._answers: dict[str, Callable[[], Answer]] = {}
        self._statuses: dict[str, str] = {}
        """Of calls that smolagents shows, those that are not ok."""

    # The copy

    def _copy(self, agent: Any, more: dict[str, Any]) -> Any:
        sdk, made = self._watch.sdk, copy(agent)
        made.memory = sdk.AgentMemory(agent.memory.system_prompt.system_prompt)
        made.state = dict(agent.state)
        made.monitor = sdk.Monitor(agent.model, agent.logger)
        made.step_callbacks = _callbacks(agent, made.monitor)
        made.stream_outputs = agent.stream_outputs or hasattr(agent.model, "generate_stream")
        if not self._runs_here(made):
            return made
        made.tools = {
            name: tool if name == FINAL else calling(tool, self._calls_of(tool))
            for name, tool in {**more, **agent.tools}.items()
        }
        managed = agent.managed_agents.items()
        made.managed_agents = {name: calling(each, self._calls_of(each)) for name, each in managed}
        return made

    def _runs_here(self, made: Any) -> bool:
        """Whether the agent's tools are called in this process."""
        executor = getattr(made, "python_executor", None)
        if executor is None:
            return True
        if not isinstance(executor, self._watch.sdk.LocalPythonExecutor):
            if any(asked_of(tool) for tool in made.tools.values()):
                raise TypeError("tools that ask a person need CodeAgent's local executor")
            return False
        made.python_executor = own = copy(executor)
        own.state, own.custom_tools = dict(executor.state), dict(executor.custom_tools)
        # The timeout stops nothing: it waits for the code to end, and then drops its result.
        own.timeout_seconds = None
        return True

    def _calls_of(self, thing: Any) -> Callable[..., Any]:
        def call(_copy: Any, *args: Any, **kwargs: Any) -> Any:
            return self._call(thing, args, kwargs)

        return call

    # Its steps

    def see(self, step: Any) -> Any:
        """A step comes next; returns it as it is emitted."""
        kind = type(step).__name__
        if kind == "ChatMessageStreamDelta":
            self._announce_code()
        elif kind == "ToolCall":
            self._expect(step)
        elif kind in ("ActionStep", "PlanningStep"):
            self._begin_message()
        elif kind == "ToolOutput" and step.id in self._statuses:
            return self._shown(step, status=self._statuses[step.id])
        return self._shown(step) if self._within else step

    def _announce_code(self) -> None:
        """Tell the parser which part of the model's text is the code of the next call."""
        tags = getattr(self.agent, "code_block_tags", None)
        if self._is_announced or tags is None or self.agent._use_structured_outputs_internally:
            return
        self._is_announced = True
        call = f"call_{len(self.agent.memory.steps)}"  # as smolagents will name it
        about = {"_class": "CodeTags", "id": call, "opening": tags[0], "closing": tags[1]}
        self._watch.put(self._shown(about))

    def _shown(self, step: Any, **more: Any) -> dict[str, Any]:
        """A step as a line, with the agents that it is of."""
        path = {"within": list(self._within)} if self._within else {}
        return {**Objects().describe(step), **more, **path}

    def answer(self, task: str, **options: Any) -> Any:
        """The answer of a managed agent, whose steps are emitted: in place of its `run`."""
        answer, agent = None, self.agent
        # As it was given: smolagents adds instructions.
        self._watch.put(self._shown({"_class": "TaskStep", "task": self._task or task}))
        for step in type(agent).run(agent, task, **{**options, "stream": True}):
            self._watch.put(self.see(step))
            if type(step).__name__ == "FinalAnswerStep":
                answer = step.output
        return answer

    def _expect(self, step: Any) -> None:
        is_code = hasattr(self.agent, "python_executor")
        given = {"code": step.arguments} if is_code else step.arguments
        call = self._new(step.id, step.name, given if isinstance(given, dict) else {})
        call.is_code = is_code
        if is_code:
            self._code = step.id
        else:
            self._expected.append(call)
            self._prepare(call, self.agent.tools.get(step.name))
        self._watch.journal.add(call)

    def _new(self, own_id: str, name: str, arguments: dict[str, Any]) -> Call:
        stored = plain(arguments)
        return Call(
            id=f"{self._prefix}{own_id}",
            name=name,
            arguments=stored,
            agents=self._agents,
            scope=self._scope,
            within=f"{self._prefix}{self._code}" if self._code else "",
            is_whole=_is_json(arguments),
        )

    def _prepare(self, call: Call, tool: Any) -> None:
        """Note what has to be asked about a call, if anything."""
        asked = None if tool is None else asked_of(tool, call.arguments)
        if asked is not None:
            call.kind, call.request, call.was_made = asked.kind, new_request(call.id), False
            self._to_ask[call.id] = (call, asked)

    # Its calls

    def _call(self, thing: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        options = {name: kwargs.pop(name) for name in (*kwargs,) if name == SANITIZE}
        given = _bound(thing, args, kwargs)
        call = self._begin(thing, given)
        if call is None:
            return thing(**given, **options)
        try:
            if call.request:
                outcome = outcome_of(call.kind, self._answer_to(call))
                if not outcome.is_made:
                    return self._not_made(call, outcome.output, outcome.status)
                given = given if outcome.arguments is None else outcome.arguments
                self._watch.journal.change(call, arguments=plain(given), was_made=True)
            output = self._callable(thing, call)(**given, **options)
        except Exception as error:
            if not isinstance(error, CallDenied):
                self._end(call, f"{type(error).__name__}: {error}", "error")
            raise
        self._end(call, output)
        return output

    def _callable(self, thing: Any, call: Call) -> Any:
        """What makes a call: the tool itself, or a run of the managed agent."""
        if not _is_agent(thing):
            return unwrapped(thing)
        own = call.id[len(self._prefix) :]
        run = AgentRun(self._watch, thing, call, (*self._within, f"{thing.name}:{own}"))
        run.agent.run = run.answer
        return run.agent

    def _begin(self, thing: Any, given: dict[str, Any]) -> Call | None:
        """The call that begins; `None` for one that is not shown."""
        with self._lock:
            fits = [each for each in self._expected if each.name == thing.name]
            fits.sort(key=lambda each: each.arguments != plain(given))
            if fits:
                self._expected.remove(fits[0])
                return fits[0]
            self._made += 1
            own = f"{self._code or thing.name}.{self._made}"
            call = self._new(own, thing.name, given)
            self._prepare(call, thing)
        if self._made > MOST_SHOWN and not call.request and not _is_agent(thing):
            return None
        self._added.add(call.id)
        self._watch.journal.add(call)
        line = {"_class": "ToolCall", "id": own, "name": call.name, "arguments": call.arguments}
        self._watch.put(self._shown(line))
        return call

    def _answer_to(self, call: Call) -> Answer:
        with self._lock:
            if call.id not in self._answers:
                asked = [each for name, each in self._to_ask.items() if name not in self._answers]
                waits = self._watch.person.ask(*asked)
                self._answers.update({each.id: wait for (each, _), wait in zip(asked, waits)})
            wait = self._answers[call.id]
        return wait()

    def _not_made(self, call: Call, output: Any, status: str) -> Any:
        self._end(call, output, status)
        if self._code and status != "ok":
            raise CallDenied(output)
        return output if self._code else as_text(output)

    def _end(self, call: Call, output: Any, status: str = "ok") -> None:
        text = as_text(output)[:MOST_OUTPUT]
        self._watch.journal.change(call, output=text, status=status)
        own = call.id[len(self._prefix) :]
        if call.id not in self._added:
            self._statuses.update({} if status == "ok" else {own: status})
            return
        line = {"_class": "ToolOutput", "id": own, "output": output, "observation": text}
        self._watch.put(self._shown(line, status=status))


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_agent(thing: Any) -> bool:
    return hasattr(thing, "managed_agents")


def _bound(thing: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, as smolagents itself reads them."""
    only = args[0] if len(args) == 1 and not kwargs else None
    if isinstance(only, dict) and all(name in thing.inputs for name in only):
        return dict(only)
    if len(args) > len(thing.inputs):
        raise TypeError(f"{thing.name}() takes {len(thing.inputs)} arguments, not {len(args)}")
    return {**dict(zip(thing.inputs, args)), **kwargs}


def _callbacks(agent: Any, monitor: Any) -> Any:
    """The callbacks of an agent, with another monitor."""
    made, own = copy(agent.step_callbacks), agent.monitor.update_metrics
    made._callbacks = {
        kind: [monitor.update_metrics if each == own else each for each in callbacks]
        for kind, callbacks in agent.step_callbacks._callbacks.items()
    }
    return made


def as_text(output: Any) -> str:
    """A result as smolagents tells it to the model; a value of a person or a page as JSON."""
    if isinstance(output, (dict, list)):
        return json.dumps(plain(output), ensure_ascii=False)
    return "" if output is None else str(output)
