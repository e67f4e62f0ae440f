"""The `mobox` command: a module for each subcommand, with `add(subcommands)`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from mobox import __version__
from mobox.cli import (
    agents,
    convert,
    demo,
    doctor,
    keys,
    logs,
    prune,
    record,
    run,
    runs,
    serve,
    sim,
    view,
)
from mobox.errors import MoboxError

COMMANDS = (
    run,
    serve,
    agents,
    convert,
    record,
    view,
    demo,
    logs,
    runs,
    keys,
    prune,
    sim,
    doctor,
)
"""In the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 2 for a usage error."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        if sys.stdout is not None:  # the parent process may have closed it
            sys.stdout.flush()
    except MoboxError as error:
        print(f"mobox: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        # The interpreter flushes once more while it exits, and would fail with exit code 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mobox", description="Any agent in, any frontend out, nothing lost in between."
    )
    parser.add_argument("--version", action="version", version=f"mobox {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser
