"""The route that lists the agents, and says which of them can be used."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.capture.catalog import Agent, FunctionAgent
from mobox.capture.model_access import ModelSource
from mobox.environments import Environment, install_command
from mobox.errors import UnknownAgent
from mobox.sandbox import NetworkMode
from mobox.server.auth.principal import principal_of
from mobox.server.services import Services, json_response
from mobox.supervisor import Supervisor

Availability = Literal["ready", "installs", "failed", "unavailable"]
"""Whether a message starts an agent at once, after an installation, after one that has failed
before, or not at all."""

_FIRST: Final = "Will be installed at the first message."
_NOW: Final = "Is being installed."
_MISSING: Final = "Its packages are not installed."
_NO_SANDBOX: Final = "Its sandbox is not available."


class AgentRow(Struct, kw_only=True):
    """An agent."""

    id: str
    name: str
    description: str
    icon: str = ""
    """An emoji."""
    starters: list[str] = []
    """Messages to begin a chat with."""
    model: ModelSource | None = None
    """Where its model's responses come from; `null` if it does not use the gateway."""
    availability: Availability = "ready"
    notice: str = ""
    """Why it is not ready, as a sentence; those who may operate see the cause."""
    sandbox: str | None = None
    """The name of its sandbox; `null` if it is a function, or workers execute it."""
    network: NetworkMode | None = None
    """What it may connect to; `null` if it is a function."""


class AgentProblem(Struct, kw_only=True):
    """An agent that could not be loaded."""

    id: str
    """The name of its folder."""
    message: str


class AgentList(Struct, kw_only=True):
    """The available agents; for those who may operate also the ones that could not be loaded."""

    agents: list[AgentRow]
    default: str | None = None
    """The id of the agent of chats that name none."""
    problems: list[AgentProblem] = []


async def list_agents(request: Request, services: Services) -> Response:
    """The agents that `agent` in a request may name."""
    supervisor = services.supervisor
    may_operate = "operate" in principal_of(request).scopes
    agents, problems = list(supervisor.catalog), supervisor.catalog.problems
    found = await asyncio.to_thread(_availabilities, supervisor, agents, may_operate)
    for agent in agents:
        if (problem := await _sandbox_problem(supervisor, agent)) is not None:
            found[agent.id] = "unavailable", problem if may_operate else _NO_SANDBOX
    rows = [_row(services, agent, *found[agent.id]) for agent in agents]
    listed = [AgentProblem(id=each.file.parent.name, message=str(each)) for each in problems]
    return json_response(
        AgentList(agents=rows, default=_default(supervisor), problems=listed if may_operate else [])
    )


def _default(supervisor: Supervisor) -> str | None:
    try:
        return supervisor.default_agent().id
    except UnknownAgent:
        return None


def _row(services: Services, agent: Agent, availability: Availability, notice: str) -> AgentRow:
    is_process = not isinstance(agent, FunctionAgent)
    executed = is_process and services.supervisor.executes
    return AgentRow(
        id=agent.id,
        name=agent.name,
        description=agent.description,
        icon=agent.icon,
        starters=list(agent.starters),
        model=services.models.source(agent),
        availability=availability,
        notice=notice,
        sandbox=services.supervisor.sandboxes.name_of(agent) if executed else None,
        network=agent.network.mode if is_process else None,
    )


async def _sandbox_problem(supervisor: Supervisor, agent: Agent) -> str | None:
    """Why it has no sandbox to run in; tries the one that it asks for, once."""
    if isinstance(agent, FunctionAgent) or not supervisor.executes:
        return None
    problem = await supervisor.sandboxes.problem_of(agent)
    return None if problem is None else f"{problem[0].upper()}{problem[1:]}."


def _availabilities(
    supervisor: Supervisor, agents: list[Agent], may_operate: bool
) -> dict[str, tuple[Availability, str]]:
    """By agent: whether it can be used, and why not; reads files."""
    return {agent.id: _availability(supervisor, agent, may_operate) for agent in agents}


def _availability(
    supervisor: Supervisor, agent: Agent, may_operate: bool
) -> tuple[Availability, str]:
    """Where others execute the agents, only they know their environments."""
    environment = supervisor.environments.of(agent) if supervisor.executes else None
    state = "installed" if environment is None else environment.state()
    if environment is None or state == "installed":
        return "ready", ""
    if state == "installing":
        return "installs", _NOW
    if not supervisor.environments.installs:
        return "unavailable", _cause(environment) if may_operate else _MISSING
    if state == "missing":
        return "installs", _FIRST
    return "failed", _cause(environment) if may_operate else _MISSING


def _cause(environment: Environment) -> str:
    if problem := environment.problem():
        return f"Its packages could not be installed: {problem}"
    return f"Its packages are not installed: run {install_command(environment)}"
