"""`mobox logs`: shows the raw output of a run's agent."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, TextIO

from mobox.cli.storage_options import add_places, opened, read_places
from mobox.printable import printable
from mobox.server.settings import OWNER, Settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "logs",
        help="show the raw output of a run's agent",
        description="Writes the agent's lines to stdout, and the end of its stderr to stderr.",
    )
    command.add_argument("run_id", metavar="RUN", help="id of the run (also of its message)")
    command.add_argument("--owner", default=OWNER, help="owner of the run, on a server with keys")
    add_places(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the output, whether or not a server is running."""
    asyncio.run(_show(read_places(arguments), arguments.owner, arguments.run_id))
    return 0


async def _show(settings: Settings, owner: str, run_id: str) -> None:
    from mobox.supervisor.agent_files import StderrFolder

    async with opened(settings) as storage:
        found = await storage.run(owner, run_id)
        after = 0
        while lines := await storage.raw_lines(found.id, after):
            _write(sys.stdout, b"".join(line.line + b"\n" for line in lines))
            after = lines[-1].n
    for attempt, text in StderrFolder(settings.data / "logs").read(found).items():
        _write(sys.stderr, f"--- stderr of attempt {attempt} ---\n{text.rstrip()}\n".encode())


def _write(stream: TextIO, data: bytes) -> None:
    """Write unchanged; to a terminal with control characters escaped."""
    if stream.isatty():
        data = printable(data.decode(errors="backslashreplace")).encode()
    stream.buffer.write(data)
    stream.buffer.flush()
