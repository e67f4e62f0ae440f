"""`mobox logs`: what the agent of a run wrote, as it wrote it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING, TextIO

from mobox.printable import printable
from mobox.server.settings import OWNER, SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

PLACES = ("data", "database_url")


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "logs",
        help="show what the agent of a run wrote",
        description="Writes the agent's lines to stdout, and the end of its stderr to stderr.",
    )
    command.add_argument("run_id", metavar="RUN", help="the run's id, which is its message's")
    for setting in (setting for setting in SETTINGS if setting.field in PLACES):
        metavar = setting.field.rpartition("_")[2].upper()
        meaning = f"{setting.meaning} [{setting.env}]"
        command.add_argument(setting.flag, dest=setting.field, metavar=metavar, help=meaning)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show it, a server running beside or not."""
    places = {name: getattr(arguments, name) for name in PLACES}
    asyncio.run(_show(read_settings(os.environ, places), arguments.run_id))
    return 0


async def _show(settings: Settings, run_id: str) -> None:
    from mobox.storage import open_storage
    from mobox.supervisor.stderr import StderrFolder

    storage = await open_storage(settings.database)
    try:
        found = await storage.run(OWNER, run_id)
        after = 0
        while lines := await storage.raw_lines(found.id, after):
            _write(sys.stdout, b"".join(line.line + b"\n" for line in lines))
            after = lines[-1].n
    finally:
        await storage.close()
    for leg, text in StderrFolder(settings.data / "logs").read(run_id).items():
        _write(sys.stderr, f"--- stderr of leg {leg} ---\n{text.rstrip()}\n".encode())


def _write(stream: TextIO, said: bytes) -> None:
    """As it is, but to a terminal, which would obey what an agent says."""
    if stream.isatty():
        said = printable(said.decode(errors="backslashreplace")).encode()
    stream.buffer.write(said)
    stream.buffer.flush()
