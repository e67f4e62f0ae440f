"""Where a server keeps things, for the commands that look there, a server running beside or not."""

from __future__ import annotations

import argparse
import os

from mobox.server.settings import SETTINGS, Settings, read_settings

__all__ = ["add_places", "read_places"]

PLACES = ("data", "database_url")


def add_places(command: argparse.ArgumentParser) -> None:
    """Declare the options, which are those of `mobox serve`."""
    for setting in (setting for setting in SETTINGS if setting.field in PLACES):
        metavar = setting.field.rpartition("_")[2].upper()
        meaning = f"{setting.meaning} [{setting.env}]"
        command.add_argument(setting.flag, dest=setting.field, metavar=metavar, help=meaning)


def read_places(arguments: argparse.Namespace) -> Settings:
    """The settings that say where; what else a server is told is not looked at."""
    told = {setting.env for setting in SETTINGS if setting.field in PLACES}
    environment = {name: value for name, value in os.environ.items() if name in told}
    return read_settings(environment, {name: getattr(arguments, name) for name in PLACES})
