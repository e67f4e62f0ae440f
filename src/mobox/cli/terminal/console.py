"""Reads from and writes to the terminal, or to files and pipes in its place.

Rule 1: if stdout is a terminal, everything is written there. If not, stdout gets the answers only,
        and stderr the rest: `mobox run agent "…" > answer.md` has nothing else in its file.
Rule 2: without a terminal there are no colours, and the cursor never moves.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, TextIO

from mobox.cli.terminal.interrupts import Interrupts, noticed_while_reading
from mobox.cli.terminal.style import Style, cut, terminal_style

HISTORY: Final = 1000
"""Prompts that are kept."""
_ESCAPES: Final = re.compile(r"\033\[[0-9;]*m")
FRAME: Final = 0.1
"""Seconds of a frame of the status line."""


class Console:
    """The streams of this process."""

    def __init__(self) -> None:
        self.answers: TextIO | None = sys.stdout
        self.notes: TextIO = sys.stdout if _is_terminal(sys.stdout) else sys.stderr
        self.is_split = self.notes is not self.answers
        """Whether answers and notes are written to two streams."""
        self.has_person = _is_terminal(sys.stdin) and _is_terminal(self.notes)
        """Whether a person can read and answer."""
        self._has_status = False
        self._readline = _Readline(self.has_person and not self.is_split)
        for stream in (self.answers, self.notes):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    @property
    def style(self) -> Style:
        """What the stream of notes can show; its width may change at any time."""
        width = shutil.get_terminal_size().columns
        encoding = getattr(self.notes, "encoding", None)
        return terminal_style(_is_terminal(self.notes), encoding, width, os.environ)

    # Writing

    def write(self, text: str) -> None:
        """Write notes: all but an answer that goes to a file."""
        if text and self.notes is not None:
            self.clear_status()
            self.notes.write(text)
            self.notes.flush()

    def write_problem(self, text: str) -> None:
        """Write a line to stderr."""
        self.clear_status()
        if sys.stderr is not None:
            sys.stderr.write(f"mobox: {text}\n")

    def write_answer(self, text: str) -> None:
        """Write to stdout."""
        if text and self.answers is not None:
            self.clear_status()
            self.answers.write(text)
            self.answers.flush()

    def write_bytes(self, data: bytes) -> None:
        """Write to stdout as it is."""
        if data and self.answers is not None:
            self.clear_status()
            self.answers.flush()
            self.answers.buffer.write(data)
            self.answers.buffer.flush()

    def show_status(self, text: str) -> None:
        """Show a line until something else is written; only where the cursor can move."""
        style = self.style
        if not style.moves:
            return
        frames = style.symbols.working
        frame = frames[int(time.monotonic() / FRAME) % len(frames)]
        line = style.paint("dim", cut(f"{frame} {text}", max(8, (style.width or 80) - 1)))
        self.notes.write(f"\r{line}\033[K")
        self.notes.flush()
        self._has_status = True

    def clear_status(self) -> None:
        """Remove the line of `show_status`."""
        if self._has_status:
            self._has_status = False
            self.notes.write("\r\033[K")

    # Reading

    def read(self, prompt: str, typed: str = "") -> str:
        """A line that a person types, without its line end; raises `EOFError`."""
        self.clear_status()
        with noticed_while_reading():
            return self._readline.read(prompt, typed, self.notes)

    def read_all(self) -> str:
        """All of stdin."""
        return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin else ""

    def discard_typed(self) -> None:
        """Forget what was typed before."""
        if _is_terminal(sys.stdin):
            with suppress(ImportError, OSError):
                import termios

                termios.tcflush(sys.stdin, termios.TCIFLUSH)

    @contextmanager
    def without_echo(self) -> Iterator[None]:
        """Do not show what is typed meanwhile: it would be in the middle of the output."""
        if not self.has_person:
            yield
            return
        import termios

        before = termios.tcgetattr(sys.stdin)
        changed = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(sys.stdin, termios.TCSANOW, changed)
        try:
            yield
        finally:
            with suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(sys.stdin, termios.TCSANOW, before)

    @contextmanager
    def interrupts(self) -> Iterator[Interrupts]:
        """Count Ctrl-C instead of raising `KeyboardInterrupt`; the second one raises it."""
        interrupts = Interrupts()
        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN:  # in the background of a shell
            yield interrupts
            return
        signal.signal(signal.SIGINT, interrupts.add)
        try:
            yield interrupts
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def history(self, file: Path) -> Iterator[None]:
        """Have the prompts of earlier conversations at hand, and add the new ones to the file."""
        self._readline.load(file)
        try:
            yield
        finally:
            self._readline.store(file)

    def remember(self, text: str) -> None:
        """Add a prompt to the history."""
        self._readline.add(text)


class _Readline:
    """Reads lines with Python's readline, where there is one and a terminal to use it."""

    def __init__(self, is_usable: bool) -> None:
        self._module = None
        if is_usable:
            with suppress(ImportError):
                import readline

                readline.set_auto_history(False)  # answers to requests are no prompts
                self._module = readline

    def read(self, prompt: str, typed: str, notes: TextIO) -> str:
        if self._module is None:
            return _read_plain(prompt, notes)
        module = self._module
        # Readline counts the characters of a prompt, but for those between these two.
        shown = _ESCAPES.sub("\001\\g<0>\002", prompt)
        module.set_startup_hook((lambda: module.insert_text(typed)) if typed else None)
        try:
            return input(shown)
        finally:
            module.set_startup_hook(None)

    def load(self, file: Path) -> None:
        if self._module is not None:
            with suppress(OSError):
                self._module.read_history_file(str(file))

    def add(self, text: str) -> None:
        if self._module is not None:
            self._module.add_history(text)

    def store(self, file: Path) -> None:
        if self._module is not None:
            self._module.set_history_length(HISTORY)
            with suppress(OSError):
                os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
                self._module.write_history_file(str(file))


def _read_plain(prompt: str, notes: TextIO) -> str:
    notes.write(prompt)
    notes.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _is_terminal(stream: IO[str] | None) -> bool:
    """Whether it is one; a stream that the parent process has closed is `None`."""
    return stream is not None and stream.isatty()
