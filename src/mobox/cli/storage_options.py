"""The storage options of commands that read a server's data, whether or not it is running."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mobox.server.settings import SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    from mobox.storage import Storage


PLACES = ("data", "database_url")


def add_places(command: argparse.ArgumentParser) -> None:
    """Declare the options, the same as those of `mobox serve`."""
    for setting in (setting for setting in SETTINGS if setting.field in PLACES):
        metavar = setting.field.rpartition("_")[2].upper()
        meaning = f"{setting.meaning} [{setting.env}]"
        command.add_argument(setting.flag, dest=setting.field, metavar=metavar, help=meaning)


def read_places(arguments: argparse.Namespace) -> Settings:
    """The settings of the storage; variables of other settings are ignored."""
    names = {setting.env for setting in SETTINGS if setting.field in PLACES}
    environment = {name: value for name, value in os.environ.items() if name in names}
    return read_settings(environment, {name: getattr(arguments, name) for name in PLACES})


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Storage]:
    """Open the store for the duration of a command."""
    from mobox.storage import open_storage

    storage = await open_storage(settings.database)
    try:
        yield storage
    finally:
        await storage.close()
