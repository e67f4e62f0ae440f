"""`mobox runs`: lists runs, and answers the message of an ended one again."""

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
from mobox.errors import InvalidSetting, MoboxError
from mobox.events.printable import printable
from mobox.settings import MEMORY, OWNER

if TYPE_CHECKING:
    from mobox.cli.options import Commands
    from mobox.storage import Storage
    from mobox.storage.log import Run
    from mobox.storage.run_lists import ListedRun

COLUMNS = ("id", "started", "state", "agent", "chat")
MOST = 50
TITLE = 40


def add(commands: Commands) -> None:
    """Declare the command and its own commands."""
    command = commands.add_parser(
        "runs",
        help="list runs, and try failed ones again",
        description="Lists an owner's runs, and queues failed ones again for a server or a worker.",
    )
    actions = command.add_subparsers(required=True, metavar="ACTION")
    every = actions.add_parser("list", help=f"list the last {MOST} runs, newest first")
    every.add_argument("--failed", action="store_true", help="only those that failed")
    again = actions.add_parser(
        "retry",
        help="answer the message of a run once more",
        description="Queues another run for the same message, as Retry in the page does. A running "
        "server or worker executes it.",
    )
    again.add_argument("run_ids", metavar="RUN", nargs="+", help="id of a run, as listed")
    for action, work in ((every, _list), (again, _retry)):
        action.add_argument("--owner", default=OWNER, help="owner of the runs, with keys")
        add_settings(action, STORAGE)
        action.set_defaults(run=run, work=work)


def run(arguments: argparse.Namespace) -> int:
    """Run the action, whether or not a server is running."""
    settings = storage_settings(arguments)
    if settings.database == MEMORY:
        raise InvalidSetting("database_url", MEMORY, "other processes cannot read runs there")
    if not (settings.database_url or (settings.data / "mobox.db").exists()):
        raise InvalidSetting("data", str(settings.data), "there is no database in this folder")
    code: int = with_storage(settings, partial(arguments.work, arguments))
    return code


async def _list(arguments: argparse.Namespace, storage: Storage) -> int:
    from mobox.storage.run_lists import RunFilter

    filter_ = RunFilter(outcome="failed" if arguments.failed else None)
    page = await storage.list_runs(arguments.owner, filter_, limit=MOST)
    print_table([COLUMNS, *map(_row, page.runs)])
    return 0


def _row(listed: ListedRun) -> tuple[str, ...]:
    run = listed.run
    started = datetime.fromtimestamp(run.started_at / 1000, UTC).strftime("%Y-%m-%d %H:%MZ")
    title = printable(listed.title)
    shown = title if len(title) <= TITLE else title[: TITLE - 1] + "…"
    return run.id, started, run.reason or run.status, printable(run.agent), shown


async def _retry(arguments: argparse.Namespace, storage: Storage) -> int:
    """Queue all that can be; 1 if one cannot."""
    code = 0
    for run_id in arguments.run_ids:
        try:
            found = await storage.run(arguments.owner, run_id)
            queued = await _queue_again(storage, found)
        except MoboxError as error:
            print(f"mobox: {run_id}: {error}", file=sys.stderr)
            code = 1
        else:
            print(f"{queued.id} is queued: it answers the message of {run_id} again")
    return code


async def _queue_again(storage: Storage, run: Run) -> Run:
    from mobox.events.turn import Action, Cut, Place, Request
    from mobox.storage.log import RECORDED

    if run.agent == RECORDED:
        raise MoboxError("it was kept from a recording, and has no agent")
    if run.status != "done":
        raise MoboxError(f"this run is {run.status}")
    history = await storage.history(run.owner, run.chat_id, limit=1)
    if run.superseded or history.messages[-1].id != run.id:
        raise MoboxError("its chat has gone on: only the last answer can be made again")
    cut = Cut(Place.BEFORE, run.id)
    again = Request(chat_id=run.chat_id, action=Action.REGENERATE, cut=cut)
    begun = await storage.begin_turn(run.owner, again, run.agent, run.framework, queue=True)
    return begun.run
