"""`mobox serve`: chats with agents, over HTTP."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "serve",
        help="run the server",
        description="Serves chats with agents. Every flag has a variable of the environment.",
    )
    command.set_defaults(run=run)
    try:
        from mobox.server.settings import SETTINGS
    except ImportError:  # installed without its extra; `run` says so
        return
    for setting in SETTINGS:
        metavar = setting.field.upper()
        meaning = f"{setting.meaning} [{setting.env}]"
        command.add_argument(setting.flag, dest=setting.field, metavar=metavar, help=meaning)
    command.add_argument(
        "--show-settings", action="store_true", help="show what is set, and by what; then exit"
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until somebody says stop."""
    from mobox.server.settings import read_settings, show_settings

    flags = vars(arguments)
    settings = read_settings(os.environ, flags)
    if arguments.show_settings:
        print(show_settings(settings, os.environ, flags))
        return 0
    from mobox.server.serving import serve

    serve(settings)
    return 0
