"""A real terminal (a pty) with a program in it, and a person who reads the screen and types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from server.live_server import LIMIT, MOBOX, clean_environment

CTRL_C, CTRL_D = "\x03", "\x04"

# The program gets the terminal as its own, so that Ctrl-C reaches it; and it hears that, even if
# this process was told to ignore it, as one in the background of a shell is.
_IN_TERMINAL = """
import fcntl, os, signal, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
_SEQUENCE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|\x1b.|[\r\n\b\x07]|[^\x1b\r\n\b\x07]+")


class Screen:
    """What a person sees: the lines, without colours, however the cursor has moved."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines = [""]
        self._row = self._column = 0
        self._rest = ""
        self.unknown: list[str] = []
        """Sequences other than those of colours, of our own cursor, and of readline."""

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        for found in _SEQUENCE.finditer(text):
            token = found[0]
            if token == "\x1b" and found.end() == len(text):
                self._rest = token
            elif found[2]:
                self._control(found[1], found[2])
            elif token == "\n":
                self._down()
            elif token == "\r":
                self._column = 0
            elif token == "\b":
                self._column = max(0, self._column - 1)
            elif token.startswith("\x1b"):
                self.unknown.append(token)
            elif token != "\x07":
                self._put(token)

    def _control(self, numbers: str, kind: str) -> None:
        if kind == "m" or numbers.startswith("?"):
            return
        if kind == "K":
            self.lines[self._row] = self.lines[self._row][: self._column]
        elif kind == "A":
            self._row = max(0, self._row - int(numbers or 1))
        elif kind == "J":
            del self.lines[self._row + 1 :]
            self.lines[self._row] = self.lines[self._row][: self._column]
        elif kind == "C":
            self._column += int(numbers or 1)
        elif kind != "P":  # readline deletes characters
            self.unknown.append(f"{numbers}{kind}")

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append("")

    def _put(self, text: str) -> None:
        for character in text:
            if self._column >= self.width:
                self._down()
                self._column = 0
            line = self.lines[self._row].ljust(self._column)
            self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
            self._column += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


class Terminal:
    """The program and its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], number: int, width: int) -> None:
        self.process = process
        self.screen = Screen(width)
        self.raw = ""
        """All that was written, with its escape sequences."""
        self._number = number
        self._seen = 0

    @property
    def text(self) -> str:
        return self.screen.text

    def type(self, keys: str) -> None:
        os.write(self._number, keys.encode())

    def enter(self, line: str) -> None:
        """Type a line."""
        self.type(f"{line}\r")

    def wait_for(self, text: str) -> str:
        """Read until there is such a text after the last one that was waited for."""
        self._until(lambda: text in self.raw[self._seen :], f"no {text!r}")
        self._seen = self.raw.index(text, self._seen) + len(text)
        return self.text

    def prompt(self) -> str:
        """Wait for the prompt."""
        return self.wait_for("> ")

    def end(self) -> int:
        """Read until the program has exited; its exit code."""
        self._until(lambda: self.process.poll() is not None, "it has not exited")
        while self._read(0):
            pass
        return self.process.wait(LIMIT)

    def _until(self, happened: Callable[[], object], problem: str) -> None:
        deadline = time.monotonic() + LIMIT
        while not happened():
            assert time.monotonic() < deadline, f"{problem}:\n{self.text}"
            if not self._read(0.05) and self.process.poll() is not None:
                assert happened(), f"{problem}; it has exited:\n{self.text}"

    def _read(self, seconds: float) -> bool:
        if not select.select([self._number], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._number, 1 << 16)
        except OSError:  # nobody has the terminal open any more
            return False
        text = data.decode("utf-8", "replace")
        self.raw += text
        self.screen.feed(text)
        return bool(data)


@contextmanager
def in_terminal(
    *arguments: str | Path,
    width: int = 100,
    cwd: Path | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Terminal]:
    """`mobox` in a terminal of its own; it ends with the block at the latest."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    given = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "INPUTRC": os.devnull, **env}
    removed = {"NO_COLOR", "EDITOR", "VISUAL", "COLUMNS"} - env.keys()
    environment = {k: v for k, v in clean_environment(**given).items() if k not in removed}
    words = [*MOBOX, *map(str, arguments)]
    with subprocess.Popen(
        [sys.executable, "-c", _IN_TERMINAL, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=environment,
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(process, ours, width)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(LIMIT)
            os.close(ours)
