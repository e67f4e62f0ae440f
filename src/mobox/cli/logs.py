"""`mobox logs`: what the agent of a run wrote, as it wrote it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, TextIO

from mobox.cli.places import add_places, opened, read_places
from mobox.printable import printable
from mobox.server.settings import OWNER, Settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "logs",
        help="show what the agent of a run wrote",
        description="Writes the agent's lines to stdout, and the end of its stderr to stderr.",
    )
    command.add_argument("run_id", metavar="RUN", help="the run's id, which is its message's")
    command.add_argument("--owner", default=OWNER, help="whose run, on a server with keys")
    add_places(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show it, a server running beside or not."""
    asyncio.run(_show(read_places(arguments), arguments.owner, arguments.run_id))
    return 0


async def _show(settings: Settings, owner: str, run_id: str) -> None:
    from mobox.supervisor.stderr import StderrFolder

    async with opened(settings) as storage:
        found = await storage.run(owner, run_id)
        after = 0
        while lines := await storage.raw_lines(found.id, after):
            _write(sys.stdout, b"".join(line.line + b"\n" for line in lines))
            after = lines[-1].n
    for leg, text in StderrFolder(settings.data / "logs").read(found).items():
        _write(sys.stderr, f"--- stderr of leg {leg} ---\n{text.rstrip()}\n".encode())


def _write(stream: TextIO, said: bytes) -> None:
    """As it is, but to a terminal, which would obey what an agent says."""
    if stream.isatty():
        said = printable(said.decode(errors="backslashreplace")).encode()
    stream.buffer.write(said)
    stream.buffer.flush()
