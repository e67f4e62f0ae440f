"""`mobox prune`: delete what is old."""

from __future__ import annotations

import argparse
import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from mobox.cli.places import add_places, opened, read_places
from mobox.server.settings import Settings

if TYPE_CHECKING:
    from mobox.supervisor.pruning import Pruned

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "prune",
        help="delete old chats",
        description="Deletes whole chats in which nothing has happened for so long: their runs, "
        "logs, and what their agents kept. One in which a run goes on or waits stays. Keys that "
        "were revoked or expired so long ago go too. A server may run beside.",
    )
    command.add_argument(
        "--older-than", required=True, type=age, metavar="AGE", help="such as 90m, 12h, 30d or 8w"
    )
    command.add_argument(
        "--raw-only", action="store_true", help="only the lines that agents wrote, of ended runs"
    )
    command.add_argument("--dry-run", action="store_true", help="only say how much that would be")
    add_places(command)
    command.set_defaults(run=run)


def age(text: str) -> timedelta:
    """How long ago that is, in the words in which a key's end is told."""
    from mobox.server.keys import read_duration

    try:
        return read_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{problem}; got {text!r}") from None


def run(arguments: argparse.Namespace) -> int:
    """Delete, or count."""
    pruned = asyncio.run(_prune(read_places(arguments), arguments))
    would = "would be deleted" if arguments.dry_run else "deleted"
    if arguments.raw_only:
        print(f"{_many(pruned.raw_lines, 'raw line')} {would}")
    else:
        keys = f", {_many(pruned.keys, 'key')} that had ended" if pruned.keys else ""
        print(f"{_many(pruned.chats, 'chat')} with {_many(pruned.runs, 'run')}{keys} {would}")
    return 0


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


async def _prune(settings: Settings, arguments: argparse.Namespace) -> Pruned:
    from mobox.supervisor import pruning

    async with opened(settings) as storage:
        if arguments.dry_run:
            return await pruning.count(storage, arguments.older_than)
        if arguments.raw_only:
            return await pruning.prune_raw(storage, arguments.older_than)
        return await pruning.prune(storage, settings.data, arguments.older_than)
