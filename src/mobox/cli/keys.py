"""`mobox keys`: manages the API keys of a server that runs with `--auth keys`."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from mobox.cli.options import (
    STORAGE,
    add_settings,
    print_table,
    storage_settings,
    with_storage,
)
from mobox.errors import InvalidSetting
from mobox.events.printable import printable
from mobox.registry import needs_extra
from mobox.settings import MEMORY, now_ms

if TYPE_CHECKING:
    from mobox.cli.options import Commands
    from mobox.storage import Storage
    from mobox.storage.keys import ApiKey


COLUMNS = ("id", "owner", "name", "scopes", "made", "used", "state")


def add(commands: Commands) -> None:
    """Declare the command and its own commands."""
    command = commands.add_parser(
        "keys",
        help="create, list and revoke API keys",
        description="Manages the API keys of a server with authentication: mobox serve --auth "
        "keys. Changes take effect at once, also while the server runs.",
    )
    actions = command.add_subparsers(required=True, metavar="ACTION")
    new = actions.add_parser("add", help="create a key, and show it once")
    new.add_argument("--owner", required=True, help="owner of the chats that it gives access to")
    new.add_argument("--name", default="", help="a label for the list")
    new.add_argument(
        "--scopes", default="read,write", help="some of read, write, operate [read,write]"
    )
    new.add_argument("--expires", metavar="TIME", help="after 90m, 12h, 30d or 8w [never]")
    every = actions.add_parser("list", help="list the keys, without their secrets")
    old = actions.add_parser("revoke", help="revoke a key; its connections are closed within 5 s")
    old.add_argument("id", metavar="ID", help="id of the key, as listed")
    for action, work in ((new, _add), (every, _list), (old, _revoke)):
        add_settings(action, STORAGE)
        action.set_defaults(run=run, work=work)


def run(arguments: argparse.Namespace) -> int:
    """Run the action, whether or not a server is running."""
    settings = storage_settings(arguments)
    if settings.database == MEMORY:
        raise InvalidSetting("database_url", MEMORY, "other processes cannot read keys there")
    if arguments.work is _add:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not (settings.database_url or (settings.data / "mobox.db").exists()):
        raise InvalidSetting("data", str(settings.data), "there is no database in this folder")
    with needs_extra("server", "mobox keys"):
        with_storage(settings, partial(arguments.work, arguments))
    return 0


async def _add(arguments: argparse.Namespace, storage: Storage) -> None:
    from mobox.server.auth.keys import new_key

    key, secret = new_key(
        _owner(arguments.owner),
        arguments.name,
        _scopes(arguments.scopes),
        _expiry(arguments.expires),
    )
    await storage.add_key(key)
    print(secret)
    access = f"access to {printable(key.owner)}'s chats ({', '.join(key.scopes)})"
    print(f"{key.id} gives {access}. Save it now: it won't be shown again.", file=sys.stderr)
    print("Keys are required by servers with --auth keys (MOBOX_AUTH).", file=sys.stderr)


async def _list(_arguments: argparse.Namespace, storage: Storage) -> None:
    print_table([COLUMNS, *map(_row, await storage.keys())])


async def _revoke(arguments: argparse.Namespace, storage: Storage) -> None:
    key = await storage.revoke_key(arguments.id)
    print(f"{key.id} is revoked; its open connections are closed within 5 seconds")


def _row(key: ApiKey) -> tuple[str, ...]:
    cells = (key.id, printable(key.owner), printable(key.name), ",".join(key.scopes))
    return (*cells, _day(key.created_at), _day(key.used_at), _state(key))


def _state(key: ApiKey) -> str:
    from mobox.server.auth.keys import is_live

    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    if not is_live(key, now_ms()):
        return f"expired {_day(key.expires_at)}"
    return "" if key.expires_at is None else f"until {_day(key.expires_at)}"


def _day(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%MZ")


def _owner(text: str) -> str:
    if not text.strip() or len(text) > 200:
        raise InvalidSetting("--owner", text[:40], "expected a name of up to 200 characters")
    return text


def _scopes(text: str) -> tuple[str, ...]:
    from mobox.server.auth.principal import EVERY_SCOPE

    scopes = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not scopes or not set(scopes) <= set(EVERY_SCOPE):
        raise InvalidSetting("--scopes", text, f"expected some of {', '.join(EVERY_SCOPE)}")
    return scopes


def _expiry(text: str | None) -> int | None:
    from mobox.server.auth.keys import read_expiry

    try:
        return None if text is None else read_expiry(text, now_ms())
    except ValueError as problem:
        raise InvalidSetting("--expires", text or "", str(problem)) from None
