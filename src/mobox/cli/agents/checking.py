"""`mobox agents check`: finds out why an agent cannot run, and what to do.

Nothing of the agent is run, but its imports are: what a package does when it is imported, it does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from mobox.capture.catalog import Agent
from mobox.capture.execution import last_words
from mobox.cli.agents import chosen, load, sandboxes_of, source_of
from mobox.cli.terminal.style import one_line
from mobox.environments import environment_of, in_environment, install_command
from mobox.events.printable import on_one_line
from mobox.models.config import ModelsConfig
from mobox.sandbox.kept_process import AGENT_PATH, PASSED_ON
from mobox.settings import Settings
from mobox.supervisor.sandboxes import Sandboxes

IMPORTS: Final = Path(__file__).with_name("imports.py")
LONGEST: Final = 120
"""Seconds that the imports of an agent may take."""
WIDTH: Final = 7


class Finding(NamedTuple):
    """Something that was checked."""

    kind: Literal["ok", "note", "problem"]
    text: str


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print what was found; the exit code is 1 if something is wrong."""
    catalog, config = load(settings)
    sandboxes = sandboxes_of(settings)
    broken = {problem.file.parent.name: str(problem) for problem in catalog.problems}
    named = [name for name in arguments.ids if name not in broken]
    shown = [name for name in broken if not arguments.ids or name in arguments.ids]
    agents = chosen(catalog, named) if named or not arguments.ids else []
    found = {name: [Finding("problem", broken[name])] for name in shown}
    for agent in agents:
        sandbox = asyncio.run(check_sandbox(agent, sandboxes))
        found[agent.id] = list(check(agent, config, settings, sandbox))
    for name in sorted(found):
        print(name)
        for finding in found[name]:
            print(f"  {finding.kind:<{WIDTH}}  {finding.text}")
    if not found:
        print(f"No agents in {settings.agents_folder}.")
    return int(any(each.kind == "problem" for findings in found.values() for each in findings))


def check(
    agent: Agent, config: ModelsConfig, settings: Settings, sandbox: Finding
) -> Iterator[Finding]:
    """What is right and wrong with an agent."""
    yield Finding("ok", f"agent.yaml is valid; framework: {agent.framework}")
    yield sandbox
    if (lacks := agent.lacks(os.environ)) is not None:
        yield Finding("problem", f"{lacks}: set it where you start the server")
    yield from _models(agent, config)
    environment = environment_of(agent, settings.environments_folder)
    if environment is None:
        yield from _code(agent)
        return
    command = install_command(environment)
    if environment.is_installed():
        yield Finding("ok", f"the packages of {environment.source} are installed")
        yield from _code(in_environment(agent, environment))
    elif problem := environment.problem():
        yield Finding("problem", f"packages could not be installed: {problem}; repeat: {command}")
    else:
        yield Finding("problem", f"its packages are not installed: {command}")


async def check_sandbox(agent: Agent, sandboxes: Sandboxes) -> Finding:
    """Whether its sandbox works here."""
    if problem := await sandboxes.problem_of(agent):
        return Finding("problem", f"its sandbox: {problem}")
    return Finding("ok", f"sandbox: {sandboxes.name_of(agent)}; network: {agent.network.mode}")


def _models(agent: Agent, config: ModelsConfig) -> Iterator[Finding]:
    for name in agent.models:
        source = source_of(name, agent, config)
        if source in ("provider", "recorded"):
            yield Finding("ok", f"model {name}: {source}")
        else:
            key = config.providers[name].keys[0]
            yield Finding("note", f"model {name}: {source}; set {key}, or put it into .env")


def _code(agent: Agent) -> Iterator[Finding]:
    """Whether the script compiles, and what it imports is there."""
    *command, script = agent.argv
    if Path(script).suffix != ".py" or len(command) != 1:
        yield Finding("note", "its entry is a command, which is not checked")
        return
    name = Path(script).name
    with tempfile.TemporaryDirectory() as home:
        try:
            problems, modules = _try_imports(command[0], script, agent.folder, home)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            yield Finding("problem", f"{command[0]} cannot run: {on_one_line(str(error))}")
            return
    for problem in problems:
        yield Finding("problem", f"{name}: {one_line(problem)}")  # some messages have many lines
    if not problems:
        listed = f"; it can import {', '.join(modules)}" if modules else ""
        yield Finding("ok", f"{name} compiles{listed}")


def _try_imports(python: str, script: str, folder: Path, home: str) -> tuple[list[str], list[str]]:
    """The problems of the script, and the modules that it can import; run by its Python."""
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    done = subprocess.run(
        [python, str(IMPORTS), script],
        cwd=folder,
        env={**passed, "HOME": home, "PYTHONPATH": str(AGENT_PATH), "MOBOX_STATE": home},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise ValueError(last_words(done.stderr) or f"it exited with code {done.returncode}")
    found = json.loads(done.stdout.splitlines()[-1])
    return found["problems"], found["modules"]
