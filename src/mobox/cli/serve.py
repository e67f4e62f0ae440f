"""`mobox serve`: serves chats with agents over HTTP."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        description="Serves chats with agents. Every option can be set by environment variable.",
        allow_abbrev=False,  # --agent and --agents
    )
    add_settings(command)
    command.set_defaults(run=run)


def add_settings(command: argparse.ArgumentParser) -> None:
    """An option for each setting."""
    for setting in SETTINGS:
        default = f", default {setting.default}" if setting.default else ""
        meaning = f"{setting.meaning} [{setting.env}{default}]"
        metavar = setting.field.rpartition("_")[2].upper()
        command.add_argument(setting.flag, dest=setting.field, metavar=metavar, help=meaning)
    command.add_argument(
        "--show-settings", action="store_true", help="show all settings and their source, and exit"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal."""
    return run_with_settings(arguments, _serve)


def run_with_settings(arguments: argparse.Namespace, work: Callable[[Settings], int]) -> int:
    """Run `work` with the settings, or show them."""
    flags = vars(arguments)
    settings = read_settings(os.environ, flags)
    if arguments.show_settings:
        print(show_settings(settings, os.environ, flags))
        return 0
    return work(settings)


def _serve(settings: Settings) -> int:
    with server_packages("mobox serve"):
        from mobox.server.ops.run_server import serve
    return serve(settings)


@contextmanager
def server_packages(command: str) -> Iterator[None]:
    """Import modules that need the server's packages; raises `NotInstalled` if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "mobox":
            raise
        raise NotInstalled(command, error.name, "server") from None
