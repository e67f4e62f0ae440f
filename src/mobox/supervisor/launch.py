"""Launches an agent: as a process in a sandbox, or as a function of this program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mobox.capture.callable import CallableExecution
from mobox.capture.catalog import Agent, FunctionAgent
from mobox.capture.execution import Execution
from mobox.capture.process import ProcessExecution, job_of
from mobox.events.turn import Turn
from mobox.sandbox import Sandbox

Launch = Callable[[Agent, Path, Turn], Execution]


def launcher_for(sandbox: Sandbox) -> Launch:
    """Launches processes in this sandbox."""

    def launch(agent: Agent, state: Path, turn: Turn) -> Execution:
        if isinstance(agent, FunctionAgent):
            return CallableExecution(agent, state, turn)
        return ProcessExecution.start(job_of(agent, state), turn, sandbox)

    return launch
