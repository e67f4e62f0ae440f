"""The recordings of real agents, and the logs that become of them."""

from pathlib import Path

import pytest

from mobox.capture.jsonlines import JsonLines
from mobox.capture.pipeline import Recorder
from mobox.events import LogEntry

FOLDER = Path(__file__).parents[1] / "recordings"
RECORDINGS = sorted(path for path in FOLDER.glob("*/*") if path.is_file())


def name_of(recording: Path) -> str:
    """Its framework and its own."""
    return f"{recording.parent.name}/{recording.stem}"


each_recording = pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)


def recorded_log(recording: Path) -> list[LogEntry]:
    """The log of a recording, read at once."""
    recorder = Recorder(recording.parent.name)
    return recorder.read(recording.read_bytes()) + recorder.close()


def timed_log(recording: Path) -> list[LogEntry]:
    """The log of a recording, read line by line at one line in 100 ms."""
    lines, recorder = JsonLines(), Recorder(recording.parent.name)
    log: list[LogEntry] = []
    for number, line in enumerate(recording.read_bytes().splitlines(keepends=True)):
        log += recorder.feed(lines.feed(line), ts=number * 100)
    return log + recorder.feed(lines.close()) + recorder.close(ts=len(log) * 100)
