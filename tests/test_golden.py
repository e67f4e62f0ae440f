"""Every recording in every format, byte for byte, and read by the real clients.

`make golden` rewrites the expected files: review the diff as code.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_sdk_client import AiSdkClients
from grammar import check_ai_sdk
from grammar_log import legal_log
from mobox import LogEntry, Recorder, get_formatter
from mobox.delivery import sse
from mobox.events import Done, Error, Text, TextDelta, decode_many, encode_many
from mobox.parsers import frameworks
from mobox.parsers.emitted.lines import LINES

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
RECORDINGS = sorted(path for path in HERE.glob("recordings/*/*") if path.is_file())

each_recording = pytest.mark.parametrize(
    "recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def log_of(recording: Path) -> list[LogEntry]:
    recorder = Recorder(recording.parent.name)
    return recorder.read(recording.read_bytes()) + recorder.close()


def ai_sdk_documents(log: list[LogEntry]) -> list[bytes]:
    formatter = get_formatter("ai-sdk", "msg_1", "v6")
    documents = [document for entry in log for document in formatter.format(entry)]
    return documents if isinstance(log[-1].event, Done) else [*documents, *formatter.pause()]


def as_events(log: list[LogEntry]) -> bytes:
    assert decode_many(encode_many(log)) == log
    legal_log([entry.event for entry in log])
    return encode_many(log)


def as_ai_sdk(log: list[LogEntry]) -> bytes:
    documents = ai_sdk_documents(log)
    check_ai_sdk(documents, "v6")
    return b"".join(document + b"\n" for document in documents)


FORMATS: dict[str, Callable[[list[LogEntry]], bytes]] = {
    "events": as_events,
    "ai-sdk-v6": as_ai_sdk,
}


def golden_file(recording: Path, form: str) -> Path:
    return GOLDEN / recording.parent.name / f"{recording.stem}.{form}.jsonl"


@each_recording
@pytest.mark.parametrize("form", FORMATS)
def test_a_recording_becomes_its_golden_file(recording: Path, form: str, regold: bool) -> None:
    golden, made = golden_file(recording, form), FORMATS[form](log_of(recording))
    if regold:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(made)
    assert made.splitlines() == golden.read_bytes().splitlines()
    assert made == golden.read_bytes()


def test_every_golden_file_has_its_recording() -> None:
    expected = {golden_file(recording, form) for recording in RECORDINGS for form in FORMATS}
    assert {path for path in GOLDEN.rglob("*") if path.is_file()} == expected


def test_the_recordings_are_of_known_frameworks_and_stay_small() -> None:
    assert {path.parent.name for path in RECORDINGS} <= set(frameworks())
    assert len(RECORDINGS) <= 60
    assert sum(path.stat().st_size for path in RECORDINGS) <= 5_000_000


def test_every_recording_has_its_line_in_the_provenance() -> None:
    told = (HERE / "recordings" / "PROVENANCE.md").read_text("utf-8")
    assert [path.stem for path in RECORDINGS if f"| {path.stem} |" not in told] == []


def test_every_kind_of_emitted_line_is_recorded() -> None:
    lines = (HERE / "recordings/emitted/every_line.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["type"] for line in lines} == set(LINES)


@each_recording
@pytest.mark.parametrize("client", ["ai-v6", "ai"])
def test_the_real_client_reads_the_text_of_the_log(
    ai_sdk: AiSdkClients, recording: Path, client: str
) -> None:
    log = log_of(recording)
    reading = ai_sdk.read(client, sse.encode(ai_sdk_documents(log)))
    assert reading.error is None
    assert reading.error_text == error_of(log)
    assert reading.message is not None
    assert reading.message["id"] == "msg_1"
    parts = reading.message["parts"]
    assert "".join(part["text"] for part in parts if part["type"] == "text") == text_of(log)
    assert [part for part in parts if part.get("state") in ("streaming", "input-streaming")] == []


def text_of(log: list[LogEntry]) -> str:
    """What the root agent answered."""
    events = [entry.event for entry in log if not entry.event.scope]
    return "".join(
        event.content if isinstance(event, Text) else event.delta
        for event in events
        if isinstance(event, Text | TextDelta)
    )


def error_of(log: list[LogEntry]) -> str | None:
    """What the run failed with, if it did."""
    done = log[-1].event
    if not isinstance(done, Done) or done.reason not in ("error", "lost"):
        return None
    return [entry.event.message for entry in log if isinstance(entry.event, Error)][-1]
