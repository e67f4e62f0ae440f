"""`mobox record`: records an agent's output for `mobox convert`."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import msgspec

from mobox.capture.callable import SdkObjects
from mobox.errors import NotRecordable

# Records an agent's output line by line, as a parser reads it.
#
# A command's standard output is kept byte for byte. A function returns or yields objects of an SDK:
# each is a line, and an exception is the last one.

READ = 64 * 1024


class Sink(Protocol):
    """Where a recording goes: a file, a pipe."""

    def write(self, data: bytes, /) -> object:
        """Write some bytes."""

    def flush(self) -> object:
        """Flush, for concurrent readers."""


def record_command(command: Sequence[str], sink: Sink) -> int:
    """Run `command` and record its stdout; returns its exit code, or 128 + its signal."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
    except OSError as error:
        raise NotRecordable(f"cannot run {command[0]}: {error.strerror}") from error
    with process:
        assert process.stdout is not None  # a pipe
        for data in _reads(process.stdout):
            sink.write(data)
            sink.flush()
    code = process.returncode
    return code if code >= 0 else 128 - code


def find_callable(name: str) -> Callable[[], object]:
    """Import the function `module:name`, also from the current directory."""
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise NotRecordable(f"expected MODULE:CALLABLE, got {name!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: object = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise NotRecordable(f"{name}: {error}") from error
    if not callable(found):
        raise NotRecordable(f"{name} is not callable")
    return found


def record_callable(function: Callable[[], object], sink: Sink) -> int:
    """Call `function` and record the objects that it returns or yields; 1 if it raises.

    Its prints go to standard error: the recording may be on standard output.
    """
    objects = SdkObjects()

    def keep(value: object) -> None:
        sink.write(msgspec.json.encode(objects.describe(value)) + b"\n")
        sink.flush()

    with redirect_stdout(sys.stderr):
        try:
            _each(function, keep)
        except Exception as error:  # noqa: BLE001 - it is the recording's last line
            keep(error)
            return 1
    return 0


def _each(function: Callable[[], object], keep: Callable[[object], None]) -> None:
    result = function()
    if inspect.isawaitable(result) or isinstance(result, AsyncIterator):
        asyncio.run(_each_async(result, keep))
    elif isinstance(result, Iterator | list | tuple):
        for value in result:
            keep(value)
    elif result is not None:
        keep(result)


async def _each_async(result: object, keep: Callable[[object], None]) -> None:
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterator):
        async for value in result:
            keep(value)
    else:
        _each(lambda: result, keep)


def _reads(stream: IO[bytes]) -> Iterator[bytes]:
    read1 = getattr(stream, "read1", stream.read)
    while data := read1(READ):
        yield data


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
