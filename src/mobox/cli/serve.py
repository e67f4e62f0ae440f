"""`mobox serve`: chats with agents, over HTTP."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from mobox.errors import NotInstalled
from mobox.server.settings import SETTINGS, Settings, read_settings, show_settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "serve",
        help="run the server",
        description="Serves chats with agents. Each option can be a variable of the environment.",
        allow_abbrev=False,  # --agent and --agents
    )
    for setting in SETTINGS:
        default = f", default {setting.default}" if setting.default else ""
        meaning = f"{setting.meaning} [{setting.env}{default}]"
        metavar = setting.field.rpartition("_")[2].upper()
        command.add_argument(setting.flag, dest=setting.field, metavar=metavar, help=meaning)
    command.add_argument(
        "--show-settings", action="store_true", help="show what holds, and what set it; then exit"
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until somebody says stop."""
    flags = vars(arguments)
    settings = read_settings(os.environ, flags)
    if arguments.show_settings:
        print(show_settings(settings, os.environ, flags))
    else:
        _serve(settings)
    return 0


def _serve(settings: Settings) -> None:
    try:
        from mobox.server.serving import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "mobox":
            raise
        raise NotInstalled("mobox serve", error.name, "server") from None
    serve(settings)
