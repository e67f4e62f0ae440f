"""`mobox agents list`: the agents, their models and their packages."""

from __future__ import annotations

import argparse
import asyncio
import sys

import msgspec
from msgspec import Struct

from mobox.capture.catalog import PYTHON, Agent
from mobox.cli.agents import load, sandboxes_of, source_of
from mobox.environments import environment_of
from mobox.events.printable import printable
from mobox.models.config import ModelsConfig
from mobox.sandbox import NetworkMode
from mobox.settings import Settings
from mobox.supervisor.sandboxes import Sandboxes

COLUMNS = ("id", "name", "framework", "models", "packages", "sandbox", "network")


class Row(Struct, frozen=True, kw_only=True):
    """An agent."""

    id: str
    name: str
    framework: str
    models: dict[str, str]
    """By provider, where the responses come from: provider, simulated, recorded or no key."""
    packages: str
    """installed, installing, missing or failed; "own" in a `.venv`, "" without any."""
    sandbox: str
    network: NetworkMode
    problem: str | None = None
    """Why it has no sandbox to run in."""

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        models = ", ".join(
            name if source == "provider" else f"{name} ({source})"
            for name, source in self.models.items()
        )
        sandbox = self.sandbox if self.problem is None else f"{self.sandbox} (unavailable)"
        names = (self.id, printable(self.name), self.framework)
        return (*names, models, self.packages, sandbox, self.network)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the list."""
    catalog, config = load(settings)
    sandboxes = sandboxes_of(settings)
    rows = [asyncio.run(row_of(agent, config, settings, sandboxes)) for agent in catalog]
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
    elif rows:
        _print_table([COLUMNS, *(row.cells() for row in rows)])
    else:
        print(f"No agents in {settings.agents_folder}.")
    for row in rows:
        if row.problem is not None:
            print(f"{row.id}: {row.problem}", file=sys.stderr)
    for problem in catalog.problems:
        print(f"{problem.file.parent.name}: {problem}", file=sys.stderr)
    return 0


async def row_of(
    agent: Agent, config: ModelsConfig, settings: Settings, sandboxes: Sandboxes
) -> Row:
    """What there is to tell of an agent."""
    return Row(
        id=agent.id,
        name=agent.name,
        framework=agent.framework,
        models={name: source_of(name, agent, config) for name in agent.models},
        packages=_packages(agent, settings),
        sandbox=sandboxes.name_of(agent),
        network=agent.network.mode,
        problem=await sandboxes.problem_of(agent),
    )


def _packages(agent: Agent, settings: Settings) -> str:
    environment = environment_of(agent, settings.environments_folder)
    if environment is not None:
        return environment.state()
    return "own" if any((agent.folder / python).exists() for python in PYTHON) else ""


def _print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
