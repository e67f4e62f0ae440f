"""What several commands share: options for settings, and an open store."""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mobox.settings import SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    from mobox.storage import Storage

    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

T = TypeVar("T")

STORAGE = ("data", "database_url", "files")
"""The settings of commands that open a server's store, whether or not the server is running."""


def add_settings(command: argparse.ArgumentParser, fields: Collection[str] = SETTINGS) -> None:
    """Declare an option for each of these settings."""
    for field in fields:
        setting = SETTINGS[field]
        default = f", default {setting.default}" if setting.default else ""
        is_switch = setting.default in ("true", "false")
        alone: dict[str, Any] = {"nargs": "?", "const": "true"} if is_switch else {}
        command.add_argument(
            setting.flag,
            dest=field,
            **alone,
            metavar=field.rpartition("_")[2].upper(),
            help=f"{setting.help} [{setting.env}{default}]",
        )


def storage_settings(arguments: argparse.Namespace) -> Settings:
    """The settings of the store; variables of other settings are ignored."""
    names = {SETTINGS[field].env for field in STORAGE}
    environment = {name: value for name, value in os.environ.items() if name in names}
    return read_settings(environment, {field: getattr(arguments, field) for field in STORAGE})


def with_storage(settings: Settings, work: Callable[[Storage], Awaitable[T]]) -> T:
    """The result of `work` on the store, which is open for so long."""
    # Imported here, as other commands need neither.
    import asyncio

    from mobox.storage import open_storage

    async def run() -> T:
        storage = await open_storage(settings.database, settings)
        try:
            return await work(storage)
        finally:
            await storage.close()

    return asyncio.run(run())


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns; the first row has their names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
