"""`mobox sim`: serves a simulated model, for agents without a key."""

from __future__ import annotations

import argparse
import math
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mobox.cli.options import STORAGE, add_settings, storage_settings, with_storage
from mobox.errors import MoboxError, RunNotFound
from mobox.registry import needs_extra
from mobox.settings import OWNER, without_password

if TYPE_CHECKING:
    from mobox.cli.options import Commands
    from mobox.events import LogEntry
    from mobox.models.simulator import Script
    from mobox.storage import Storage

PORT = 8790
HOST = "127.0.0.1"
KEY = "sk-simulated"
INTRO = """\
Simulated model on {url}

In the terminal of your agent:

  export ANTHROPIC_BASE_URL={url}
  export OPENAI_BASE_URL={url}/v1
  export GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_BASE={url}/v1beta
  export ANTHROPIC_API_KEY={key} OPENAI_API_KEY={key} GEMINI_API_KEY={key}

{about}
Press Ctrl+C to stop."""


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "sim",
        help="serve a simulated model",
        description="Answers as the APIs of Anthropic, OpenAI and Google do, without a key and "
        "without a provider: by a script, as a stored run did, or with the tools it is offered.",
    )
    command.add_argument(
        "--port", type=_port, default=PORT, help=f"default: {PORT}; 0 for any free port"
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument("--script", metavar="FILE", type=Path, help="scenarios, in YAML or JSON")
    source.add_argument("--run", metavar="RUN", dest="run_id", help="answer as in this run")
    command.add_argument("--owner", default=OWNER, help="owner of the run, on a server with keys")
    command.add_argument(
        "--pace", type=_pace, help="tokens per second, 0 for no delay (default: 50)"
    )
    command.add_argument(
        "--print", action="store_true", dest="prints", help="print the script, and exit"
    )
    add_settings(command, STORAGE)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal, or print the script."""
    with needs_extra("server", "mobox sim"):
        script = _script(arguments)
        if arguments.prints:
            import yaml

            yaml.safe_dump(script.document(), sys.stdout, sort_keys=False, allow_unicode=True)
            return 0
        return _serve(arguments, script)


def _script(arguments: argparse.Namespace) -> Script:
    from mobox.models.simulator import Script, from_log, load_script

    if arguments.script is not None:
        return load_script(arguments.script)
    if arguments.run_id is None:
        return Script()
    settings = storage_settings(arguments)
    try:
        script = from_log(with_storage(settings, partial(_entries, arguments)))
    except RunNotFound as error:
        where = f"of owner {arguments.owner!r} (--owner) in {without_password(settings.database)}"
        raise MoboxError(f"{error} {where}") from None
    if not any(script.scenario(name).turns for name in script.scenarios):
        raise MoboxError(f"run {arguments.run_id!r} has no answer of a model")
    return script


async def _entries(arguments: argparse.Namespace, storage: Storage) -> list[LogEntry]:
    from mobox.storage.log import pages

    found = await storage.run(arguments.owner, arguments.run_id)
    return [entry async for page in pages(storage, found.id) for entry in page]


def _serve(arguments: argparse.Namespace, script: Script) -> int:
    import uvicorn

    from mobox.models.simulator import simulator
    from mobox.server.ops.run_server import address_of, listen

    # A connection that a script breaks off is no error of the server.
    config = uvicorn.Config(
        simulator(script, pace=arguments.pace),
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    with listen(HOST, arguments.port) as listener:
        print(INTRO.format(url=address_of(listener), key=KEY, about=_about(script)), flush=True)
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _about(script: Script) -> str:
    """What it answers."""
    names = "\n".join(f"  [[{name}]]" for name in script.scenarios)
    if len(script.scenarios) == 1 and script.default is not None:
        return f"It answers every conversation by the scenario {script.default!r}."
    if not names:
        return "It uses the tools it is offered, and answers any prompt."
    without = f", else it is {script.default!r}" if script.default is not None else ""
    return f"A scenario is chosen by a marker in the first message{without}:\n\n{names}\n"


def _port(text: str) -> int:
    if text.isdigit() and len(text) <= 5 and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")


def _pace(text: str) -> float:
    with suppress(ValueError):
        pace = float(text)
        if 0 <= pace < math.inf:
            return pace
    raise argparse.ArgumentTypeError(f"expected a number from 0 upwards, got {text!r}")
