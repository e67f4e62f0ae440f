"""Agents of smolagents: `run(agent)`.

    from smolagents import CodeAgent, OpenAIModel
    from shared.frameworks.smolagents import run
    run(CodeAgent(tools=[], model=OpenAIModel("gpt-5")))

docs/smolagents.md describes memory, approvals, managed agents, the page's tools and errors.

Rule 1: the agent's own steps are the memory: smolagents_memory.py. The variables of its code end
        with the process, which is that of one turn.
Rule 2: a call that waits for a person keeps its process. If that has ended, the next one makes the
        call, and the agent goes on with its result: smolagents_late.py.
Rule 3: the agent works in a thread, which goes on only when a step is emitted. So a call is in the
        log before it is made, and before a person is asked about it.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from contextvars import copy_context
from importlib import import_module
from typing import Any

from ..control import Turn, read_turn
from ..objects import emit_object
from ..output import write_exit
from .loading import load
from .smolagents_asking import Person, Stopped, needs_approval, page_tools
from .smolagents_calls import AgentRun, Watch
from .smolagents_late import make_late_calls
from .smolagents_memory import LOST, Journal, Memory, ended
from .smolagents_steps import read_steps, task_of

__all__ = ["messages", "needs_approval", "run", "stream"]

LOWEST, BELOW = "1.26", "2"


def run(thing: Any, **options: Any) -> None:
    """Run an agent for the turn of this process; the options are those of `stream`."""
    _load()
    turn = read_turn()
    asyncio.run(_emit(thing, turn, options))
    write_exit()


async def _emit(thing: Any, turn: Turn, options: dict[str, Any]) -> None:
    work = asyncio.ensure_future(_emit_all(thing, turn, options))
    with suppress(NotImplementedError):  # not on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, work.cancel)
    await asyncio.wait([work])
    if work.cancelled():
        sys.stderr.flush()
        os._exit(130)  # the agent's thread may be in a tool
    work.result()


async def _emit_all(thing: Any, turn: Turn, options: dict[str, Any]) -> None:
    async with aclosing(stream(thing, turn, **options)) as steps:
        async for step in steps:
            emit_object(step)


def messages(turn: Any) -> list[Any]:
    """The conversation as steps of an agent's memory: TaskSteps and ActionSteps."""
    return read_steps(_load(), turn.history, turn.parts)


async def stream(
    thing: Any,
    turn: Any,
    *,
    task: Any = None,
    max_steps: int | None = None,
    additional_args: Any = None,
) -> AsyncGenerator[Any, None]:
    """The steps of one turn, with those of managed agents and the calls of code, as dicts.

    `thing` is an agent, or a function that returns one, which may be async. `task(turn)` makes the
    task in place of the prompt's text; `additional_args` are smolagents', a value or a function of
    the turn.
    """
    sdk = _load()
    agent = await _made(sdk, thing)
    given = additional_args(turn) if callable(additional_args) else additional_args
    options = {"max_steps": max_steps or agent.max_steps, "additional_args": given}
    work = _Work(sdk, agent, turn, task, options)
    async with aclosing(work.steps()) as steps:
        async for step in steps:
            yield step


async def _made(sdk: Any, thing: Any) -> Any:
    """The agent itself, or what a function makes; an agent is callable too."""
    made = thing
    if callable(thing) and not isinstance(thing, sdk.MultiStepAgent):
        made = thing()
        made = await made if inspect.isawaitable(made) else made
    if not isinstance(made, sdk.MultiStepAgent):
        kind = type(made).__name__
        raise TypeError(
            f"an agent of smolagents is needed, or a function that returns one; not {kind}"
        )
    return made


class _Work:
    """One turn of an agent, in a thread of its own."""

    def __init__(self, sdk: Any, agent: Any, turn: Any, task: Any, options: dict[str, Any]) -> None:
        self._sdk, self._agent, self._turn = sdk, agent, turn
        self._task, self._options = task, options
        self._memory = Memory(sdk, turn)
        self._journal = Journal(self._memory)
        self._steps = _HandOver()

    async def steps(self) -> AsyncGenerator[Any, None]:
        """The steps; the agent stops where it is if nobody wants the rest of them."""
        try:
            async with aclosing(self._steps.of(self._run)) as steps:
                async for step in steps:
                    yield step
        finally:
            self._journal.leave()

    def _run(self) -> None:
        put = self._steps.put
        watch = Watch(self._sdk, self._journal, Person(self._turn, self._journal), put)
        root = AgentRun(watch, self._agent, tools=page_tools(self._sdk, self._turn))
        is_continued = self._turn.kind == "answers"
        before = self._memory.before()
        steps = self._continued(root.agent) if is_continued else self._begun(root.agent)
        own = root.agent.memory.steps
        own[:0] = before
        self._journal.end_step(own[len(before) :])
        try:
            for step in steps:
                if self._journal.is_frozen:
                    raise Stopped
                self._see(step, own[len(before) :])
                put(root.see(step))
        finally:
            with suppress(RuntimeError):  # it yields another step while it is closed
                steps.close()

    def _begun(self, agent: Any) -> Any:
        """The steps of a new task."""
        text, images = task_of(self._turn.parts)
        self._memory.forget_open()
        steps = agent.run(
            self._task(self._turn) if self._task else text, stream=True, **self._options
        )
        # As an option of `run`, every step would have them again.
        agent.memory.steps[-1].task_images = images or None
        return steps

    def _continued(self, agent: Any) -> Any:
        """The steps after those of an earlier process."""
        found = self._memory.read(self._turn.run_id)
        if found is None:
            raise RuntimeError(LOST)
        own = found.steps
        if found.open is not None:
            self._journal.open = found.open
            make_late_calls(self._agent, self._turn, self._journal, self._steps.put)
            own = [*own, ended(self._sdk, found.open)]
        made = sum(type(step).__name__ == "ActionStep" for step in own)
        left = max(self._options["max_steps"] - made, 1)
        task = next(step.task for step in own if type(step).__name__ == "TaskStep")
        steps = agent.run(task, stream=True, **{**self._options, "max_steps": left})
        agent.memory.steps[:] = own  # `run` has added the task once more
        return steps

    def _see(self, step: Any, own: list[Any]) -> None:
        kind = type(step).__name__
        if kind == "ChatMessageStreamDelta":
            self._journal.say(step.content or "")
        elif kind == "PlanningStep":
            self._journal.end_step([*own, step])  # smolagents adds it to its memory later
        elif kind in ("ActionStep", "FinalAnswerStep"):
            self._journal.end_step(own)


class _HandOver:
    """Hands over the steps of threads to an event loop, one after the other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, Any]] = asyncio.Queue()
        self._changed = threading.Condition()
        self._put = self._taken = 0
        self._is_closed = False
        self._error: BaseException | None = None

    def put(self, step: Any) -> None:
        """Hand over a step and wait until the next one is wanted; raises `Stopped` if none is."""
        with self._changed:
            self._put += 1
            self._send(self._put, step)
            number = self._put
            self._changed.wait_for(lambda: self._taken >= number or self._is_closed)
            if self._is_closed:
                raise Stopped

    def _send(self, number: int, step: Any) -> None:
        if self._is_closed:
            raise Stopped
        self._loop.call_soon_threadsafe(self._queue.put_nowait, (number, step))

    async def of(self, work: Callable[[], None]) -> AsyncGenerator[Any, None]:
        """The steps of a function, which is called in a thread; an exception ends them."""
        context = copy_context()
        thread = threading.Thread(target=context.run, args=(self._work, work), daemon=True)
        thread.start()
        try:
            while True:
                number, step = await self._queue.get()
                if not number:
                    break
                yield step
                self._take(number)
        finally:
            self._close()
        if self._error is not None:
            raise self._error

    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised in the event loop
            self._error = error
        with self._changed, suppress(Stopped, RuntimeError):
            self._send(0, None)

    def _take(self, number: int) -> None:
        with self._changed:
            self._taken = number
            self._changed.notify_all()

    def _close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def _load() -> Any:
    load("smolagents", LOWEST, BELOW, "smolagents")
    return import_module("smolagents")
