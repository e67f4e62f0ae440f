"""Records an agent's output line by line, as a parser reads it.

A command's standard output is kept byte for byte. A function returns or yields objects of an SDK:
each is a line, and an exception is the last one.
"""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import IO, Protocol

import msgspec

from mobox.capture.callable import SdkObjects
from mobox.errors import NotRecordable

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
