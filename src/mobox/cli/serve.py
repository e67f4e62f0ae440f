"""`mobox serve` and `mobox worker`: serve chats over HTTP; execute the runs that servers queue."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mobox.cli.options import add_settings
from mobox.registry import needs_extra
from mobox.settings import Settings, read_settings, show_settings

if TYPE_CHECKING:
    from mobox.cli.options import Commands


def add(commands: Commands) -> None:
    """Declare both commands, which have the same options."""
    serve = commands.add_parser(
        "serve",
        help="run the server",
        description="Serves chats with agents. Every option can be set by environment variable.",
        allow_abbrev=False,  # --agent and --agents
    )
    worker = commands.add_parser(
        "worker",
        help="execute the runs of other servers",
        description="Executes the runs that `mobox serve --execute workers` queues in the same "
        "database. It has the settings of a server, but serves no HTTP.",
        allow_abbrev=False,
    )
    for command, work in ((serve, _serve), (worker, _work)):
        add_settings(command)
        command.add_argument(
            "--show-settings",
            action="store_true",
            help="show all settings and their source, and exit",
        )
        command.set_defaults(run=run, work=work)


def run(arguments: argparse.Namespace) -> int:
    """Serve or work until a signal, or show the settings."""
    flags = vars(arguments)
    settings = read_settings(os.environ, flags)
    if arguments.show_settings:
        print(show_settings(settings, os.environ, flags))
        return 0
    code: int = arguments.work(replace(settings, beside=Path()))
    return code


def _serve(settings: Settings) -> int:
    with needs_extra("server", "mobox serve"):
        from mobox.server.ops.run_server import serve
    return serve(replace(settings, installs=settings.is_local))


def _work(settings: Settings) -> int:
    with needs_extra("server", "mobox worker"):
        from mobox.server.ops.run_worker import work
    return work(settings)
