"""`mobox demo`: plays a recorded run as raw lines, as events and as frames."""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from mobox.capture.pipeline import Recorder
from mobox.formatters import get_formatter

if TYPE_CHECKING:
    from mobox.cli.options import Commands

FRAMEWORK = "claude"
PROTOCOL = "ai-sdk"
COLOURS = {"raw": "2", "event": "36", "frame": "32"}
INTRO = """\
One turn of a Claude agent, as Mobox sees it:

  {raw}    a line that the agent's framework emits
  {event}  the event parsed from it, the same for every framework, appended to the run's log
  {frame}  what the frontend receives, here the Vercel AI SDK's useChat
"""
OUTRO = """
Convert your own: .venv/bin/mobox convert --from claude --to ai-sdk recording.jsonl"""


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser("demo", help="watch a recorded run being converted")
    command.add_argument(
        "--speed", type=_speed, default=1.0, help="playback speed, 0 for no delay (default: 1)"
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play the recording."""
    width = shutil.get_terminal_size((100, 24)).columns
    print(INTRO.format(**{kind: _paint(kind, kind) for kind in COLOURS}))
    recorder = Recorder(FRAMEWORK)
    formatter = get_formatter(PROTOCOL, "msg_1")
    recording = files("mobox.cli").joinpath("demo.jsonl").read_bytes().splitlines(keepends=True)
    for line in [*recording, b""]:
        if line:
            _show("raw", line.decode().strip(), width)
        for entry in recorder.read(line) if line else recorder.close():
            _show("event", msgspec.json.encode(entry.event).decode(), width)
            for document in formatter.format(entry):
                _show("frame", document.decode(), width)
        time.sleep(0.12 / arguments.speed if arguments.speed else 0)
    print(OUTRO)
    return 0


def _show(kind: str, text: str, width: int) -> None:
    indent = {"raw": 0, "event": 2, "frame": 4}[kind]
    room = width - indent - 7
    text = text if len(text) <= room else text[: room - 1] + "…"
    print(f"{' ' * indent}{_paint(kind, f'{kind:<5}')}  {text}", flush=True)


def _paint(kind: str, text: str) -> str:
    return f"\033[{COLOURS[kind]}m{text}\033[0m" if sys.stdout.isatty() else text


def _speed(text: str) -> float:
    with suppress(ValueError):
        speed = float(text)
        if 0 <= speed < math.inf:
            return speed
    raise argparse.ArgumentTypeError(f"expected a number from 0 upwards, got {text!r}")
