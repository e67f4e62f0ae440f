"""`mobox run`: a chat with an agent in the terminal, without a server."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from mobox.cli.options import STORAGE, add_settings
from mobox.errors import InvalidSetting, MoboxError
from mobox.registry import needs_extra
from mobox.settings import OWNER, SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    from mobox.capture.catalog import Agent, Catalog
    from mobox.cli.options import Commands

FIELDS = (
    *STORAGE, "redis_url", "redis_prefix", "agents", "environments", "models", "record_models",
    "sandbox", "log_level",
)  # fmt: skip
"""The settings of a server that this command has."""
EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waits for an answer, 130 stopped."


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "run",
        help="chat with an agent in the terminal",
        description="Sends PROMPT to an agent and shows its answer, or holds a conversation. The "
        "chat is stored as by a server: `mobox serve` with the same data folder shows it.",
        epilog=EXIT_CODES,
        allow_abbrev=False,  # --agent is no option here
    )
    command.add_argument("agent", metavar="AGENT", help="id of an agent, or path of its folder")
    command.add_argument(
        "prompt", nargs="?", metavar="PROMPT", help="one message; - reads it from standard input"
    )
    command.add_argument("--chat", metavar="ID", help="continue this chat")
    command.add_argument("--owner", default=OWNER, help="owner of the chat, on a server with keys")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write the events as JSON lines")
    form.add_argument("--to", metavar="PROTOCOL", help="write the frames of a protocol, as SSE")
    command.add_argument("--profile", help="the protocol's profile: the client's version")
    add_settings(command, FIELDS)
    command.set_defaults(run=run, usage_error=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Send one message, or hold a conversation."""
    from mobox.cli.terminal.console import Console

    settings = _settings(arguments)
    _set_up_logging(arguments, settings)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit)
    console = Console()
    try:
        console.show_status("Starting")  # what follows takes a second
        with needs_extra("server", "mobox run"):
            from mobox.cli.terminal.conversation import Conversation

            catalog, agent = find_agent(settings, arguments.agent)
        return Conversation(settings, catalog, agent, arguments, console).run()
    finally:
        console.clear_status()


def _exit(number: int, _frame: object) -> NoReturn:
    """End the run before the process ends."""
    sys.exit(128 + number)


def _settings(arguments: argparse.Namespace) -> Settings:
    """The settings; variables of those that this command does not have are ignored."""
    names = {SETTINGS[field].env for field in FIELDS}
    environment = {name: value for name, value in os.environ.items() if name in names}
    flags = {field: getattr(arguments, field) for field in FIELDS}
    settings = read_settings(environment, flags)
    # The person at the terminal is the operator, and this process is not a worker.
    return replace(settings, beside=Path(), installs=True, claims=False)


def _set_up_logging(arguments: argparse.Namespace, settings: Settings) -> None:
    """Log errors only, unless a level is set: the terminal is for the chat."""
    is_set = arguments.log_level or os.environ.get(SETTINGS["log_level"].env)
    level = settings.log_level.upper() if is_set else "ERROR"
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")


def find_agent(settings: Settings, name: str) -> tuple[Catalog, Agent]:
    """The agent with this id or at this path, and those that it belongs to."""
    from mobox.capture.catalog import FILE, Catalog, load_agent
    from mobox.models.config import load_config

    known = load_config(settings).providers
    folder = Path(name).expanduser()
    if os.sep in name or name in (".", "..", "~"):
        if not (folder / FILE).is_file():
            raise MoboxError(f"no agent in {name}: there is no {FILE}")
        agent = load_agent(folder.resolve(), known)
        return Catalog([agent], known), agent
    if not settings.agents_folder.is_dir():
        raise InvalidSetting("agents", str(settings.agents_folder), "no such folder")
    catalog = Catalog.load(settings.agents_folder, known)
    for problem in catalog.problems:
        if problem.file.parent.name == name:
            raise problem
    if not len(catalog):
        raise MoboxError(f"no agents: no folder in {settings.agents_folder} has a valid {FILE}")
    return catalog, catalog.get(name)
