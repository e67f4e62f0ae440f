"""Checks of the agents: their files, packages and variables."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding, Level
from mobox.cli.doctor.machine import shown_path
from mobox.errors import InvalidAgent, InvalidSetting, MoboxError
from mobox.registry import needs_extra

if TYPE_CHECKING:
    from mobox.capture.catalog import Agent


async def check_agents(context: Context) -> AsyncIterator[Finding]:
    """Each agent of the folder."""
    with needs_extra("server", "agents"):
        from mobox.capture.catalog import FILE, MODELS, load_agent
    try:
        known: Collection[str] = context.models.providers
    except MoboxError:  # which is reported
        known = MODELS
    folder = context.settings.agents_folder
    files = sorted(folder.glob(f"*/{FILE}"))
    if not files:
        yield _no_agents(folder)
    found = set()
    for file in files:
        try:
            agent = load_agent(file.parent, known)
        except InvalidAgent as error:
            yield _finding("fail", file.parent.name, _problem(error), "correct the file")
        else:
            found.add(agent.id)
            for finding in _check(context, agent, await _sandbox_problem(context, agent)):
                yield finding
    chosen = context.settings.agent
    if chosen is not None and chosen not in found:
        text = f"there is no default agent {chosen!r}"
        yield Finding("fail", "agent", text, "change --agent or MOBOX_AGENT")


def _no_agents(folder: Path) -> Finding:
    if not folder.is_dir():  # with which no server starts
        text = f"{shown_path(folder)}: no such folder"
        return Finding("fail", "agent", text, "change --agents or MOBOX_AGENTS")
    create = "mobox agents new NAME --framework X"
    advice = f"create one with: {create}, or name a folder with --agents"
    return Finding("warn", "agent", f"none in {shown_path(folder)}", advice)


def _problem(error: InvalidAgent) -> str:
    where = f"{shown_path(error.file)}:{error.line}"
    return ": ".join(filter(None, (where, error.field, error.problem)))


def _finding(level: Level, agent_id: str, text: str, advice: str = "") -> Finding:
    return Finding(level, "agent", f"{agent_id}: {text}", advice)


async def _sandbox_problem(context: Context, agent: Agent) -> str | None:
    with suppress(InvalidSetting):  # which is reported
        return await context.sandboxes.problem_of(agent)
    return None


def _check(context: Context, agent: Agent, sandbox_problem: str | None) -> Iterator[Finding]:
    problems = [*_packages(context, agent), *_program(agent), *_variables(context, agent)]
    if sandbox_problem is not None:
        advice = "change sandbox in agent.yaml, or the server's --sandbox"
        problems.append(_finding("fail", agent.id, sandbox_problem, advice))
    if problems:
        yield from problems
    else:
        yield _finding("ok", agent.id, ", ".join([agent.framework, *_facts(context, agent)]))


def _facts(context: Context, agent: Agent) -> Iterator[str]:
    from mobox.environments import environment_of

    if environment_of(agent, context.settings.environments_folder) is not None:
        yield "packages installed"
    with suppress(MoboxError):  # the settings of models, which are reported
        sources = [context.models.source(name, agent) for name in agent.models]
        known = next((each for each in ("recorded", "simulated") if each in sources), None)
        if known is not None:
            yield f"{known} model"


def _packages(context: Context, agent: Agent) -> Iterator[Finding]:
    from mobox.environments import environment_of, install_command

    environment = environment_of(agent, context.settings.environments_folder)
    if environment is None or environment.is_installed():
        return
    command = install_command(environment)
    if environment.state() == "installing":
        yield _finding("warn", agent.id, "its packages are being installed")
    elif environment.state() == "failed":
        text = f"its packages could not be installed: {environment.problem()}"
        yield _finding("fail", agent.id, text, command)
    elif context.settings.is_local:
        text = f"its first run installs its packages (or now: {command})"
        yield _finding("ok", agent.id, text)
    else:
        yield _finding("fail", agent.id, "its packages are not installed", command)


def _program(agent: Agent) -> Iterator[Finding]:
    program = agent.argv[0]
    path = program if os.sep not in program else str(agent.folder / program)
    if shutil.which(path) is None:
        advice = "install it, or change entry in agent.yaml"
        yield _finding("fail", agent.id, f"entry: there is no program {program!r}", advice)


def _variables(context: Context, agent: Agent) -> Iterator[Finding]:
    if problem := agent.lacks(context.environment):
        names = problem.partition(" names ")[2].partition(" in env")[0]
        text = f"needs {names} in the server's environment"
        yield _finding("warn", agent.id, text, f"set {names}, or list it as optional_env")
