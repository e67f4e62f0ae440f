"""`mobox agents install`: installs the packages that agents need."""

from __future__ import annotations

import argparse
import asyncio
import sys

from mobox.cli.agents import chosen, load
from mobox.environments import Environment, environment_of
from mobox.environments.installing import install_environment
from mobox.errors import MoboxError
from mobox.sandbox import Sandbox
from mobox.settings import Settings
from mobox.supervisor.sandboxes import choose, installing_sandbox


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Install them one after the other; the exit code is 1 if one failed."""
    catalog, _ = load(settings)
    root = settings.environments_folder
    found = (environment_of(agent, root) for agent in chosen(catalog, arguments.ids))
    environments = [environment for environment in found if environment is not None]
    if not environments:
        print("Nothing to install: no agent lists packages.")
    is_complete = all(environment.is_installed() for environment in environments)
    sandbox = None if is_complete else installing_sandbox(choose(settings.sandbox))
    failed = 0
    for environment in environments:
        try:
            asyncio.run(_install(environment, arguments.allow_builds, sandbox))
        except MoboxError as error:
            print(f"{environment.agent}: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


async def _install(environment: Environment, allow_builds: bool, sandbox: Sandbox | None) -> None:
    async def report(message: str) -> None:
        print(f"{environment.agent}: {message}", flush=True)

    if environment.is_installed():
        await report("Is installed.")
    else:
        await install_environment(environment, report, allow_builds=allow_builds, sandbox=sandbox)
