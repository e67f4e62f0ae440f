"""Agents that are functions of this program: `@mobox.agent("weather", framework="openai")`.

Rule 1: a function that takes an argument gets the `Turn`; one that takes none is called without.
Rule 2: it yields or returns the SDK's objects as they are, lines of `mobox.emit`, or text.
        capture/callable.py explains how each is read.
Rule 3: errors in a declaration are raised when the function is registered, not when it is run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from mobox.catalog import ID, Agent, Timeouts
from mobox.errors import InvalidAgent
from mobox.parsers import frameworks

__all__ = ["FunctionAgent", "agent", "takes_turn"]

Function = Callable[..., object]


class FunctionAgent(Agent, frozen=True, kw_only=True):
    """An agent that is a function; it can still be called like one."""

    function: Function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's own result."""
        return self.function(*args, **kwargs)


def agent(
    agent_id: str,
    *,
    framework: str = "emitted",
    name: str = "",
    description: str = "",
    idle: float = 300,
    total: float = 3600,
) -> Callable[[Function], FunctionAgent]:
    """Make an agent of a function; raises `InvalidAgent`.

    `idle` is the timeout without output, `total` that of the whole attempt, both in seconds and
    without the time in which it waits for a person.
    """

    def made(function: Function) -> FunctionAgent:
        _check(function, agent_id, framework)
        try:
            timeouts = msgspec.convert({"idle": idle, "total": total}, Timeouts)
        except msgspec.ValidationError as error:
            raise _wrong(function, "timeouts", str(error)) from None
        summary = description or (inspect.getdoc(function) or "").partition("\n")[0]
        return FunctionAgent(
            id=agent_id,
            name=name or agent_id,
            description=summary,
            framework=framework,
            timeouts=timeouts,
            function=function,
        )

    return made


def takes_turn(function: Function) -> bool:
    """Whether it takes the turn as an argument."""
    return bool(inspect.signature(function).parameters)


def _check(function: Function, agent_id: str, framework: str) -> None:
    if not ID.fullmatch(agent_id):
        raise _wrong(function, "id", f"cannot be {agent_id!r} (expected {ID.pattern})")
    if framework not in frameworks():
        known = ", ".join(frameworks())
        raise _wrong(function, "framework", f"unknown framework {framework!r}; known: {known}")
    signature = inspect.signature(function)
    try:
        signature.bind(*[None] * takes_turn(function))
    except TypeError:
        raise _wrong(
            function, "", f"expected one argument, the turn, or none: {signature}"
        ) from None


def _wrong(function: Function, field: str, problem: str) -> InvalidAgent:
    code = getattr(inspect.unwrap(function), "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else (repr(function), 1)
    return InvalidAgent(Path(file), line, field, problem)
