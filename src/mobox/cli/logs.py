"""`mobox logs`: shows the raw output of a run's agent."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, TextIO

from mobox.cli.options import STORAGE, add_settings, storage_settings, with_storage
from mobox.errors import MoboxError, RunNotFound
from mobox.events.printable import printable
from mobox.settings import OWNER, without_password

if TYPE_CHECKING:
    from mobox.cli.options import Commands
    from mobox.storage import Storage
    from mobox.storage.log import Run


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "logs",
        help="show the raw output of a run's agent",
        description="Writes the agent's lines to stdout, and the end of its stderr to stderr.",
    )
    command.add_argument("run_id", metavar="RUN", help="id of the run (also of its message)")
    command.add_argument("--owner", default=OWNER, help="owner of the run, on a server with keys")
    add_settings(command, STORAGE)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the output, whether or not a server is running."""
    from mobox.supervisor.agent_files import StderrFolder

    settings = storage_settings(arguments)
    try:
        found = with_storage(settings, partial(_show, arguments))
    except RunNotFound as error:
        where = f"of owner {arguments.owner!r} (--owner) in {without_password(settings.database)}"
        raise MoboxError(f"{error} {where}") from None
    for attempt, text in StderrFolder(settings.data / "logs").read(found).items():
        _write(sys.stderr, f"--- stderr of attempt {attempt} ---\n{text.rstrip()}\n".encode())
    return 0


async def _show(arguments: argparse.Namespace, storage: Storage) -> Run:
    found = await storage.run(arguments.owner, arguments.run_id)
    after = 0
    while lines := await storage.raw_lines(found.id, after):
        _write(sys.stdout, b"".join(line.line + b"\n" for line in lines))
        after = lines[-1].n
    return found


def _write(stream: TextIO, data: bytes) -> None:
    """Write unchanged; to a terminal with control characters escaped."""
    if stream.isatty():
        data = printable(data.decode(errors="backslashreplace")).encode()
    stream.buffer.write(data)
    stream.buffer.flush()
