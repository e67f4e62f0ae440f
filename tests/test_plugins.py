"""Somebody else's package adds a framework and a protocol; nothing in Mobox knows of it."""

import os
import subprocess
from pathlib import Path

import pytest

from server.live_server import MOBOX

METADATA = """\
Metadata-Version: 2.1
Name: morse
Version: 1.0
"""
ENTRY_POINTS = """\
[mobox.parsers]
morse = morse:MorseParser

[mobox.formatters]
telegram = morse:TelegramFormatter
"""
PACKAGE = '''\
"""Dots and dashes in, telegrams out."""

import json

from mobox.events import Done, TextDelta
from mobox.parsing import EventParser


class MorseParser(EventParser):
    framework = "morse"

    def read(self, raw):
        if "beep" not in raw:
            return super().read(raw)
        return [TextDelta(id=self.prefix + "tape", delta=raw["beep"])]

    def close(self):
        return [Done(reason="stop")]


class TelegramFormatter:
    PROFILES = ("loud", "quiet")

    def __init__(self, message_id, profile):
        self.change = {"loud": str.upper, "quiet": str.lower}[profile]
        self.message_id = message_id

    def format(self, entry):
        if isinstance(entry.event, TextDelta):
            return [json.dumps([entry.seq, self.change(entry.event.delta)]).encode()]
        if isinstance(entry.event, Done):
            return [json.dumps(["STOP", self.message_id]).encode()]
        return []

    def pause(self):
        return []

    def resume(self):
        return []
'''
TAPE = b'{"beep": "Hello "}\n{"boop": 1}\n{"beep": "World"}\n'


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that looks as if pip had installed the package into it."""
    (tmp_path / "morse.py").write_text(PACKAGE)
    (tmp_path / "morse-1.0.dist-info").mkdir()
    (tmp_path / "morse-1.0.dist-info" / "METADATA").write_text(METADATA)
    (tmp_path / "morse-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


def mobox(folder: Path | None, *arguments: str, data: bytes = TAPE) -> bytes:
    environment = {**os.environ, "PYTHONPATH": str(folder or "")}
    done = subprocess.run(
        [*MOBOX, "convert", *arguments], input=data, env=environment, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_a_package_adds_a_framework_and_a_protocol(installed: Path) -> None:
    made = mobox(installed, "--from", "morse", "--to", "telegram", "--message-id", "m1")
    assert made == b'data: [3, "HELLO "]\n\ndata: [5, "WORLD"]\n\ndata: ["STOP", "m1"]\n\n'


def test_its_profiles_can_be_chosen(installed: Path) -> None:
    made = mobox(installed, "--from", "morse", "--to", "telegram", "--profile", "quiet")
    assert b'"hello "' in made


def test_its_framework_works_with_our_protocols(installed: Path) -> None:
    made = mobox(installed, "--from", "morse", "--to", "ai-sdk")
    assert b'{"type":"text-delta","id":"tape","delta":"Hello "}' in made
    assert made.endswith(b"data: [DONE]\n\n")


def test_its_protocol_works_with_our_frameworks(installed: Path) -> None:
    line = b'{"type":"text","data":{"content":"Hi"}}\n'
    made = mobox(installed, "--from", "emitted", "--to", "telegram", data=line)
    assert made == b'data: [3, "HI"]\n\ndata: ["STOP", "msg_1"]\n\n'


def test_its_agents_may_print_the_simplified_lines(installed: Path) -> None:
    line = b'{"type":"text","data":{"content":"Hi"}}\n'
    assert mobox(installed, "--from", "morse", "--to", "telegram", data=line).startswith(
        b"data: [3"
    )


def test_it_is_listed_only_where_it_is_installed(installed: Path) -> None:
    listed = mobox(installed, "--list").decode().splitlines()
    assert "  morse" in listed
    assert "  telegram (loud, quiet)" in listed
    assert "  morse" not in mobox(None, "--list").decode().splitlines()


BROKEN = """\
[mobox.parsers]
morse = elsewhere:MorseParser
hollow = nowhere:Parser

[mobox.formatters]
hollow = json:dumps
"""


def test_a_package_that_is_broken_is_in_the_way_of_nothing_else(installed: Path) -> None:
    info = installed / "hollow-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.replace("morse", "hollow"))
    (info / "entry_points.txt").write_text(BROKEN)
    listed = mobox(installed, "--list").decode().splitlines()
    assert "  claude" in listed
    assert "  telegram (loud, quiet)" in listed
    assert "  morse BROKEN: registered by hollow and morse" in listed
    assert "  hollow BROKEN: hollow is broken: it has no PROFILES" in listed
    [unloadable] = [line for line in listed if "No module named 'nowhere'" in line]
    assert unloadable.startswith("  hollow BROKEN: hollow is broken: ModuleNotFoundError")
    line = b'{"type":"text","data":{"content":"Hi"}}\n'
    assert b'"HI"' in mobox(installed, "--from", "emitted", "--to", "telegram", data=line)
