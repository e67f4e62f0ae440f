"""`mobox record`: records an agent's output for `mobox convert`."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobox.cli.options import Commands


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "record",
        help="record an agent's output, line by line",
        description="Records a command's standard output, or the objects of a Python function.",
        usage="mobox record [-o FILE] (MODULE:CALLABLE | -- COMMAND ...)",
    )
    command.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    command.add_argument("what", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    command.set_defaults(run=run, usage_error=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Record; the exit code is the command's own."""
    from mobox.capture.recording import find_callable, record_callable, record_command

    is_command = arguments.what[:1] == ["--"]
    words = arguments.what[1:] if is_command else arguments.what
    if not words or (not is_command and len(words) > 1):
        arguments.usage_error("expected MODULE:CALLABLE, or -- and a command")
    with _open(arguments) as sink:
        if is_command:
            return record_command(words, sink)
        return record_callable(find_callable(words[0]), sink)


def _open(arguments: argparse.Namespace) -> Any:
    if arguments.output in (None, "-"):
        return nullcontext(sys.stdout.buffer)
    try:
        return Path(arguments.output).open("wb")
    except OSError as error:
        arguments.usage_error(f"cannot write {arguments.output}: {error.strerror}")
        raise
