"""`mobox worker`: executes the runs that servers queue."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mobox.cli.serve import add_settings, run_with_settings, server_packages
from mobox.server.settings import Settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "worker",
        help="execute the runs of other servers",
        description="Executes the runs that `mobox serve --execute workers` queues in the same "
        "database. It has the settings of a server, but serves no HTTP.",
        allow_abbrev=False,
    )
    add_settings(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Work until a signal."""
    return run_with_settings(arguments, _work)


def _work(settings: Settings) -> int:
    with server_packages("mobox worker"):
        from mobox.server.ops.run_worker import work
    return work(settings)
