"""`mobox view`: shows a recording in the browser."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from mobox.registry import needs_extra

if TYPE_CHECKING:
    from mobox.cli.options import Commands
    from mobox.server.viewer import ViewedFile


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "view",
        help="look at a recording in the browser",
        description="Shows an agent's recorded output, an SSE body, a cassette or a downloaded log "
        "as chat, timeline and frames of every protocol. Stores nothing; needs no running server.",
    )
    command.add_argument("file", metavar="FILE", help="the recording; - for standard input")
    command.add_argument(
        "--port", type=_port, default=0, metavar="PORT", help="default: any free port"
    )
    command.add_argument("--no-open", action="store_true", help="do not open a browser")
    command.set_defaults(run=run, usage_error=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Serve the page with the recording until a signal."""
    with needs_extra("server", "mobox view"):
        from mobox.server.ops.run_viewer import view

    def announce(url: str) -> None:
        print(f"{file.name}: {url}\nPress Ctrl+C to stop.", flush=True)
        if not arguments.no_open:
            webbrowser.open(url)

    file = _file(arguments)
    return view(file, arguments.port, announce)


def _file(arguments: argparse.Namespace) -> ViewedFile:
    from mobox.server.viewer import ViewedFile

    if arguments.file == "-":
        if sys.stdin is None:  # closed by the parent process
            arguments.usage_error("there is no standard input")
        return ViewedFile.of(sys.stdin.buffer.read(), "standard input")
    path = Path(arguments.file)
    try:
        with path.open("rb") as opened:
            if path.is_file():
                return ViewedFile.at(path)
            return ViewedFile.of(opened.read(), path.name)  # a pipe can be read only once
    except OSError as error:
        arguments.usage_error(f"cannot read {path}: {error.strerror}")
        raise


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text[:6]) <= 65_535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)
