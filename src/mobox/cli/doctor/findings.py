"""What a check has found, as a line for people or for programs."""

from __future__ import annotations

import os
import shutil
from typing import Final, Literal, TextIO

import msgspec
from msgspec import Struct

from mobox.cli.terminal.style import Wrapped, terminal_style
from mobox.events.printable import on_one_line

Level = Literal["ok", "warn", "fail"]

_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "red"}
_SUBJECT: Final = 10
"""Columns of the subject, with the space behind it."""
_INDENT: Final = " " * (6 + _SUBJECT)


class Finding(Struct, frozen=True):
    """One result of a check."""

    level: Level
    subject: str
    text: str
    advice: str = ""
    """What to do."""


class Report:
    """Prints findings."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self._as_json = as_json
        width = shutil.get_terminal_size().columns
        self._style = terminal_style(stream.isatty(), stream.encoding, width, os.environ)
        self._counts = {"ok": 0, "warn": 0, "fail": 0}

    def add(self, finding: Finding) -> None:
        """Print a finding."""
        self._counts[finding.level] += 1
        line = msgspec.json.encode(finding).decode() if self._as_json else self._line(finding)
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def end(self) -> int:
        """Print the summary; the exit code."""
        failures, warnings = self._counts["fail"], self._counts["warn"]
        if not self._as_json:
            parts = [_many(failures, "failure"), _many(warnings, "warning")]
            self._stream.write("\n" + (", ".join(filter(None, parts)) or "All is well.") + "\n")
        return 1 if failures else 0

    def _line(self, finding: Finding) -> str:
        style = self._style
        wrapped = Wrapped(_INDENT, style.width)
        advice = f" {style.symbols.advice} {finding.advice}" if finding.advice else ""
        text = on_one_line(finding.text + advice, 2000)
        shown = wrapped.feed(text) + wrapped.end()
        level = style.paint(_COLOURS[finding.level], f"{finding.level:<6}")
        return f"{level}{on_one_line(finding.subject):<{_SUBJECT - 1}} {shown}"


def _many(count: int, what: str) -> str:
    return "" if not count else f"1 {what}" if count == 1 else f"{count} {what}s"
