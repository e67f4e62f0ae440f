"""Starts the processes of agents, with their access to models and to the network.

All of it belongs to one execution: it is made before the process starts, and ends with it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import NamedTuple, TypeVar

from mobox.capture.catalog import Agent
from mobox.capture.egress_access import EgressAccess, EgressGrant
from mobox.capture.model_access import Caller, ModelAccess, ModelGrant, NoModels
from mobox.capture.process import ProcessExecution, job_of
from mobox.sandbox import Child, Job, SpareChild, SpareSandbox
from mobox.supervisor.sandboxes import Chosen

T = TypeVar("T", bound=Child)


class Access(NamedTuple):
    """What a process reaches."""

    models: ModelGrant
    egress: EgressGrant

    def job(self, agent: Agent, state: Path) -> Job:
        """The job of an agent that reaches this."""
        env = {**self.egress.env, **self.models.env}
        return job_of(agent, state, env, (*self.models.ports, *self.egress.ports))

    def serve(self, port: int, listening: socket) -> None:
        """Answer on a port of the sandbox."""
        grant = self.models if port in self.models.ports else self.egress
        grant.serve(listening)

    def bind(self, caller: Caller) -> None:
        """From now on it may be used, by this attempt."""
        self.models.bind(caller)

    def close(self) -> None:
        """End it."""
        self.models.close()
        self.egress.close()


class LaunchedSpare(NamedTuple):
    """A process without a chat."""

    child: SpareChild
    execution: ProcessExecution
    access: Access


class Launcher:
    """Starts the processes of one server."""

    def __init__(self, models: ModelAccess, egress: EgressAccess) -> None:
        self._models = models
        self._egress = egress

    def start(self, agent: Agent, chosen: Chosen, state: Path, caller: Caller) -> ProcessExecution:
        """Start a process for an attempt, which gets its turn later; raises `OSError`."""
        access = self._access(agent, chosen)
        access.bind(caller)
        execution, _ = _started(access, lambda: chosen.sandbox.start(access.job(agent, state)))
        return execution

    def start_spare(
        self, agent: Agent, chosen: Chosen, sandbox: SpareSandbox, state: Path, lock: int
    ) -> LaunchedSpare:
        """Start a process without a chat; raises `OSError`."""
        access = self._access(agent, chosen)
        execution, child = _started(
            access, lambda: sandbox.start_spare(access.job(agent, state), lock)
        )
        return LaunchedSpare(child, execution, access)

    def _access(self, agent: Agent, chosen: Chosen) -> Access:
        own_network = chosen.sandbox.own_network and agent.network.mode != "host"
        has_models = agent.network.mode != "none"
        source = self._models if has_models else NoModels()
        models = source.grant(agent, own_network=own_network)
        return Access(models, self._egress.grant(agent, own_network=own_network))


def _started(access: Access, start: Callable[[], T]) -> tuple[ProcessExecution, T]:
    try:
        child = start()
    except BaseException:
        access.close()
        raise
    child.when_listening(access.serve)
    execution = ProcessExecution(child)
    execution.when_ended(access.close)
    return execution, child
