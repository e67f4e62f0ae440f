"""`mobox convert`: converts a framework's recorded or piped stream to a protocol."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mobox.capture.jsonlines import JsonLines
from mobox.capture.pipeline import Recorder
from mobox.delivery import sse
from mobox.errors import PluginError
from mobox.events import Done, Error, LogEntry, Raw
from mobox.events.printable import on_one_line
from mobox.formatters import get_formatter, joining, profiles_of, protocols
from mobox.parsers import EmittedParser, check_framework, frameworks
from mobox.parsers.detection import LOOK_AT, NOT_UNDERSTOOD, Detector, is_unread

if TYPE_CHECKING:
    from mobox.cli.options import Commands

READ = 64 * 1024
AUTO = "auto"
"""The value of --from that detects the framework from the first lines."""


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "convert",
        help="convert an agent's stream to a frontend protocol",
        description="Reads JSON lines or an SSE body and writes the protocol's frames as SSE.",
    )
    command.add_argument(
        "--from",
        dest="framework",
        metavar="FRAMEWORK",
        help=f"the agent's framework; {AUTO}: detect it from the first {LOOK_AT} lines",
    )
    command.add_argument("--to", dest="protocol", metavar="PROTOCOL", help="the output protocol")
    command.add_argument("--profile", help="the protocol's profile: the client's version")
    command.add_argument(
        "--message-id",
        type=_unicode,
        default="msg_1",
        metavar="ID",
        help="id of the message (default: msg_1)",
    )
    command.add_argument("--list", action="store_true", help="list frameworks and protocols")
    command.add_argument("file", nargs="?", metavar="FILE", help="default: standard input")
    command.set_defaults(run=run, usage_error=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Convert; lines that cannot be parsed are reported and become RAW. Fails if all are."""
    if arguments.list:
        print(listing())
        return 0
    if not arguments.framework or not arguments.protocol:
        arguments.usage_error("--from and --to are required; --list shows the values")
    failures: list[Error] = []
    with _open(arguments) as source:
        for frames in convert(source, arguments, failures):
            sys.stdout.buffer.write(frames)
            sys.stdout.buffer.flush()
    for failure in failures:
        _print_error(failure.message)
    return 1 if failures else 0


def listing() -> str:
    """The values of --from, --to and --profile, with broken plugins marked."""
    lines = ["frameworks:", *(_listed(name, _framework) for name in frameworks())]
    lines += ["protocols:", *(_listed(name, _protocol) for name in protocols())]
    return "\n".join(lines)


def _listed(name: str, describe: Callable[[str], str]) -> str:
    try:
        return f"  {describe(name)}"
    except PluginError as error:
        return f"  {name} BROKEN: {on_one_line(error.reason)}"


def _framework(name: str) -> str:
    check_framework(name)
    return name


def _protocol(name: str) -> str:
    return f"{name} ({', '.join(profiles_of(name))})"


def convert(
    source: BinaryIO, arguments: argparse.Namespace, failures: list[Error]
) -> Iterator[bytes]:
    """The frames of each read of `source`, as soon as it is read.

    Adds an error to `failures` if no line of the stream was recognized.
    """
    reads = _reads(source)
    framework = arguments.framework
    if framework == AUTO:
        framework, reads = _detected(reads)
    recorder = Recorder(framework)
    formatter = get_formatter(arguments.protocol, arguments.message_id, arguments.profile)
    join = joining(formatter)

    def frames(entries: list[LogEntry]) -> bytes:
        failures.extend(_report(entries))
        return sse.frame(join(entries, sse.BETWEEN))

    for data in reads:
        yield frames(recorder.read(data))
    last = recorder.close()
    yield frames(last)
    if not last or not isinstance(last[-1].event, Done):  # the run waits, the response ends
        yield sse.encode(formatter.pause())


def _reads(source: BinaryIO) -> Iterator[bytes]:
    while data := source.read1(READ):  # type: ignore[attr-defined]
        yield data


def _detected(reads: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The detected framework, and the whole stream, including what was read for the detection.

    An unknown stream goes to the parser of emitted lines, and ends with an error that describes it.
    """
    lines, detector = JsonLines(), Detector()
    first: list[bytes] = []
    while not detector.has_enough and (data := next(reads, None)) is not None:
        first.append(data)
        for value in lines.feed(data):
            detector.see(value)
    for value in lines.close():
        detector.see(value)
    guess = detector.guess()
    framework = guess.framework if guess is not None else None
    return framework or EmittedParser.framework, chain(first, reads)


def _report(entries: list[LogEntry]) -> Iterator[Error]:
    """Print each line that could not be parsed; the errors are of a stream that was not at all."""
    for entry in entries:
        event = entry.event
        if isinstance(event, Raw) and event.source and is_unread(event):
            _print_error(f"entry {entry.seq}: {on_one_line(event.source)}")
        elif isinstance(event, Error) and event.code == NOT_UNDERSTOOD:
            yield event


def _print_error(message: str) -> None:
    if sys.stderr:
        print(f"mobox: {message}", file=sys.stderr)


def _open(arguments: argparse.Namespace) -> BinaryIO:
    if arguments.file in (None, "-"):
        if sys.stdin is None:  # closed by the parent process
            arguments.usage_error("there is no standard input")
        return sys.stdin.buffer
    try:
        return Path(arguments.file).open("rb")
    except OSError as error:
        arguments.usage_error(f"cannot read {arguments.file}: {error.strerror}")
        raise


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"expected UTF-8, got {text!r}") from None
    return text
