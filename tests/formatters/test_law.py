"""The law: what a client makes of a stream is what the stored message is reloaded as, at any time.

`client(format(log[:k])) == ui_message(fold(log[:k]))` for every k, with the real clients.
"""

from pathlib import Path
from typing import Any

import pytest

from ai_sdk_client import AiSdkClients
from mobox.capture.jsonlines import JsonLines
from mobox.events import LogEntry
from mobox.formatters import get_formatter
from mobox.formatters.ai_sdk.snapshot import ui_message
from mobox.pipeline import Recorder
from mobox.transcript import fold

RECORDINGS = sorted(
    path for path in Path(__file__).parent.parent.glob("recordings/*/*") if path.is_file()
)
CLIENTS = {"v5": "ai-v5", "v6": "ai-v6", "v7": "ai"}

UIPart = dict[str, Any]


def log_of(recording: Path) -> list[LogEntry]:
    """The log of a recording, read line by line at one line in 100 ms."""
    lines, recorder = JsonLines(), Recorder(recording.parent.name)
    log: list[LogEntry] = []
    for number, line in enumerate(recording.read_bytes().splitlines(keepends=True)):
        log += recorder.feed(lines.feed(line), ts=number * 100)
    return log + recorder.feed(lines.close()) + recorder.close(ts=len(log) * 100)


def comparable(parts: list[UIPart], profile: str) -> list[UIPart]:
    """Without what the law leaves out: ids of parts, and what a client repairs or keeps itself."""
    return [_comparable(part, profile) for part in parts]


def _comparable(part: UIPart, profile: str) -> UIPart:
    left_out = {"id"} if part["type"] == "reasoning" else set()
    if part["type"] == "dynamic-tool":
        left_out |= {"approval"} if profile != "v7" else set()
        left_out |= {"input"} if part["state"] == "input-streaming" else {"rawInput"}
    return {name: value for name, value in part.items() if name not in left_out}


def without_last_step(parts: list[UIPart]) -> list[UIPart]:
    """A client publishes the start of a step with the first part of it."""
    while parts and parts[-1] == {"type": "step-start"}:
        parts = parts[:-1]
    return parts


def assert_law(ai_sdk: AiSdkClients, log: list[LogEntry], profile: str) -> None:
    formatter = get_formatter("ai-sdk", "msg_1", profile)
    documents: list[bytes] = []
    for k, entry in enumerate(log, 1):
        more = formatter.format(entry)
        documents += more
        if not more and k < len(log):
            continue  # the client has nothing new; the next entry covers the fold too
        reading = ai_sdk.read_chunks(CLIENTS[profile], documents)
        assert reading.error is None, f"{k}: {reading.error}"
        client = reading.message["parts"] if reading.message is not None else []
        message = fold(log[:k], "msg_1")
        stored = ui_message(message, profile)["parts"]
        expected = comparable(without_last_step(stored), profile)
        assert comparable(without_last_step(client), profile) == expected, f"entry {k}: {entry}"
    if reading.message is not None and message.reason is not None:
        assert reading.message.get("metadata") == ui_message(message, profile)["metadata"]


@pytest.mark.parametrize("profile", CLIENTS)
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_reloaded_message_is_the_one_that_was_streamed(
    ai_sdk: AiSdkClients, recording: Path, profile: str
) -> None:
    assert_law(ai_sdk, log_of(recording), profile)
