"""Emits the steps of managed agents, which their framework does not stream.

A managing agent calls the others as if they were functions, and gets only their answers. `listen`
reports their steps as they come, with the path of the agent: `["researcher:1"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from itertools import count
from typing import Any

from .objects import Objects
from .output import write_line

__all__ = ["emit_managed", "listen"]

Tell = Callable[[Any, "tuple[str, ...]"], None]

_within: ContextVar[tuple[str, ...]] = ContextVar("within", default=())


def emit_managed(agent: Any) -> None:
    """Emit the steps of the agents under `agent`, beside those that `emit_object` emits of it."""
    objects = Objects()

    def report(step: Any, within: tuple[str, ...]) -> None:
        described = objects.describe(step)
        if isinstance(described, dict):
            write_line({**described, "within": list(within)})

    listen(agent, report)


def listen(agent: Any, report: Tell) -> None:
    """Call `report` with every step of the agents under `agent`, and its path."""
    _listen(agent, report, count(1), set())


def _listen(agent: Any, report: Tell, numbers: Any, wrapped: set[int]) -> None:
    managed = getattr(agent, "managed_agents", None) or {}
    for name, each in dict(managed).items() if hasattr(managed, "items") else ():
        if id(each) not in wrapped and callable(getattr(each, "run", None)):
            wrapped.add(id(each))
            with suppress(AttributeError):  # read-only agents are not reported
                each.run = _with_reports(each.run, str(name), report, numbers)
            _listen(each, report, numbers, wrapped)


def _with_reports(
    run: Callable[..., Any], name: str, report: Tell, numbers: Any
) -> Callable[..., Any]:
    """`run` with its steps reported; a caller that wants only the answer gets that."""

    def runs(task: str, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs.get("stream"):
            return run(task, *args, **kwargs)
        path = (*_within.get(), f"{name}:{next(numbers)}")
        token = _within.set(path)
        try:
            report({"_class": "TaskStep", "task": task}, path)
            return _answer(run(task, **{**kwargs, "stream": True}), report, path)
        finally:
            _within.reset(token)

    return runs


def _answer(steps: Iterable[Any], report: Tell, path: tuple[str, ...]) -> Any:
    answer = None
    for step in steps:
        report(step, path)
        if type(step).__name__ == "FinalAnswerStep":
            answer = step.output
    return answer
