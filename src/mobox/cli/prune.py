"""`mobox prune`: deletes old chats."""

from __future__ import annotations

import argparse
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mobox.cli.options import STORAGE, add_settings, storage_settings, with_storage

if TYPE_CHECKING:
    from mobox.cli.options import Commands
    from mobox.storage import Storage
    from mobox.supervisor.pruning import Pruned


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "prune",
        help="delete old chats",
        description="Deletes chats without activity since AGE, with their runs, logs and agent "
        "state. Chats with an active run are kept. Also deletes API keys that were revoked or "
        "expired before that. Safe while a server is running.",
    )
    command.add_argument(
        "--older-than", required=True, type=age, metavar="AGE", help="such as 90m, 12h, 30d or 8w"
    )
    command.add_argument(
        "--raw-only", action="store_true", help="delete only the raw lines of ended runs"
    )
    command.add_argument("--dry-run", action="store_true", help="only count what would be deleted")
    add_settings(command, STORAGE)
    command.set_defaults(run=run)


def age(text: str) -> timedelta:
    """Parse an age, in the format of a key's expiry."""
    from mobox.server.auth.keys import read_duration

    try:
        return read_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{problem}; got {text!r}") from None


def run(arguments: argparse.Namespace) -> int:
    """Delete, or count."""
    settings = storage_settings(arguments)
    pruned = with_storage(settings, partial(_prune, arguments, settings.data))
    would = "would be deleted" if arguments.dry_run else "deleted"
    if arguments.raw_only:
        print(f"{_many(pruned.raw_lines, 'raw line')} {would}")
    else:
        keys = f", {_many(pruned.keys, 'expired or revoked key')}" if pruned.keys else ""
        print(f"{_many(pruned.chats, 'chat')} with {_many(pruned.runs, 'run')}{keys} {would}")
    return 0


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


async def _prune(arguments: argparse.Namespace, data: Path, storage: Storage) -> Pruned:
    from mobox.supervisor import pruning

    if arguments.dry_run:
        return await pruning.count(storage, arguments.older_than)
    if arguments.raw_only:
        return await pruning.prune_raw(storage, arguments.older_than)
    return await pruning.prune(storage, data, arguments.older_than)
