"""`mobox logs`: shows the raw output of a run's agent, also while it works."""

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
    from mobox.supervisor.agent_files import StderrFolder

EVERY = 0.5
"""Seconds between two looks at a run that is followed."""

PROBE = 64
"""Characters that both texts have at least, where one continues the other."""


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "logs",
        help="show the raw output of a run's agent",
        description="Writes the agent's lines to stdout, and the end of its stderr to stderr.",
    )
    command.add_argument("run_id", metavar="RUN", help="id of the run (also of its message)")
    command.add_argument("--owner", default=OWNER, help="owner of the run, on a server with keys")
    command.add_argument(
        "-f", "--follow", action="store_true", help="continue until the run has ended"
    )
    add_settings(command, STORAGE)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the output, whether or not a server is running."""
    from mobox.supervisor.agent_files import StderrFolder

    settings = storage_settings(arguments)
    folder = StderrFolder(settings.data / "logs")
    try:
        with_storage(settings, partial(_show, arguments, folder))
    except RunNotFound as error:
        where = f"of owner {arguments.owner!r} (--owner) in {without_password(settings.database)}"
        raise MoboxError(f"{error} {where}") from None
    return 0


async def _show(arguments: argparse.Namespace, folder: StderrFolder, storage: Storage) -> None:
    import asyncio  # other commands do not need it

    found = await storage.run(arguments.owner, arguments.run_id)
    lines, stderr = _Lines(), _Stderr(folder)
    while True:
        await lines.show(storage, found)
        stderr.show(found)
        if not arguments.follow or found.status == "done":
            break
        await asyncio.sleep(EVERY)
        # Before its output is read again: what an ended run has is then all of it.
        found = await storage.run(arguments.owner, arguments.run_id)
    stderr.end()
    if not lines.has_any and not stderr.has_any:
        print(f"mobox: the agent of run {found.id} has written nothing", file=sys.stderr)


class _Lines:
    """The agent's lines that were not shown yet."""

    def __init__(self) -> None:
        self._after = 0

    @property
    def has_any(self) -> bool:
        return self._after > 0

    async def show(self, storage: Storage, run: Run) -> None:
        while lines := await storage.raw_lines(run.id, self._after):
            _write(sys.stdout, b"".join(line.line + b"\n" for line in lines))
            self._after = lines[-1].n


class _Stderr:
    """The stderr of each attempt that was not shown yet; of a long one only the end is stored."""

    def __init__(self, folder: StderrFolder) -> None:
        self._folder = folder
        self._shown: dict[int, str] = {}
        self._ends_line = True

    @property
    def has_any(self) -> bool:
        return any(self._shown.values())

    def show(self, run: Run) -> None:
        for attempt, text in self._folder.read(run).items():
            if attempt not in self._shown:
                self._put(f"--- stderr of attempt {attempt} ---\n", on_new_line=True)
            self._put(added(self._shown.get(attempt, ""), text))
            self._shown[attempt] = text

    def end(self) -> None:
        self._put("", on_new_line=True)

    def _put(self, text: str, *, on_new_line: bool = False) -> None:
        shown = "\n" + text if on_new_line and not self._ends_line else text
        if shown:
            self._ends_line = shown.endswith("\n")
            _write(sys.stderr, shown.encode())


def added(before: str, now: str) -> str:
    """The text after what both have: the longest end of `before` with which `now` begins."""
    if now.startswith(before):
        return now[len(before) :]
    start = before.find(now[:PROBE])
    while start >= 0:
        if now.startswith(before[start:]):
            return now[len(before) - start :]
        start = before.find(now[:PROBE], start + 1)
    return now


def _write(stream: TextIO, data: bytes) -> None:
    """Write unchanged; to a terminal with control characters escaped."""
    if stream.isatty():
        data = printable(data.decode(errors="backslashreplace")).encode()
    stream.buffer.write(data)
    stream.buffer.flush()
