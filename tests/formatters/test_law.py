"""The law: what a client makes of a stream is what the stored message is reloaded as, at any time.

`client(format(log[:k])) == ui_message(fold(log[:k]))` for every k, with the real clients.
"""

from pathlib import Path
from typing import Any

import pytest

from mobox.events import LogEntry
from mobox.events.transcript import Transcript, build_message
from mobox.formatters import get_formatter
from mobox.formatters.ai_sdk.snapshot import ui_message
from support.ai_sdk_client import AiSdkClients
from support.recordings import each_recording, timed_log

CLIENTS = {"v5": "ai-v5", "v6": "ai-v6", "v7": "ai", "page": "ai"}
VERSIONS = ("v5", "v6", "v7")


def client_of(profile: str) -> str:
    """The client that a profile, or a variant of it, is written for."""
    return CLIENTS[profile.partition("-")[0]]


UIPart = dict[str, Any]


def comparable(parts: list[UIPart], profile: str) -> list[UIPart]:
    """Without what the law leaves out: ids of parts, and what a client repairs or keeps itself."""
    return [_comparable(part, profile) for part in parts]


def _comparable(part: UIPart, profile: str) -> UIPart:
    left_out = {"id"} if part["type"] == "reasoning" else set()
    if part["type"] == "dynamic-tool" or part["type"].startswith("tool-"):
        left_out |= {"approval"} if client_of(profile) != "ai" else set()
        left_out |= {"input"} if part["state"] == "input-streaming" else {"rawInput"}
    return {name: value for name, value in part.items() if name not in left_out}


def without_last_step(parts: list[UIPart]) -> list[UIPart]:
    """A client publishes the start of a step with the first part of it."""
    while parts and parts[-1] == {"type": "step-start"}:
        parts = parts[:-1]
    return parts


def assert_law(ai_sdk: AiSdkClients, log: list[LogEntry], profile: str) -> None:
    """For every k, also where the formatter writes nothing and the client stays as it was."""
    formatter, transcript = get_formatter("ai-sdk", "msg_1", profile), Transcript()
    groups = [formatter.format(entry) for entry in log]
    reading = ai_sdk.read_groups(client_of(profile), groups)
    assert reading.error is None
    client: UIPart = {"parts": []}
    for k, (entry, after) in enumerate(zip(log, reading.after, strict=True), 1):
        transcript.add(entry.event, entry.ts)
        client = after or client
        stored = ui_message(transcript.message("msg_1"), profile)
        expected = comparable(without_last_step(stored["parts"]), profile)
        actual = comparable(without_last_step(client["parts"]), profile)
        assert actual == expected, f"entry {k}: {entry}"
        assert client.get("metadata") == stored.get("metadata"), f"entry {k}: {entry}"
    assert transcript.message("msg_1") == build_message(log, "msg_1")


@pytest.mark.parametrize("profile", CLIENTS)
@each_recording
def test_a_reloaded_message_is_the_one_that_was_streamed(
    ai_sdk: AiSdkClients, recording: Path, profile: str
) -> None:
    assert_law(ai_sdk, timed_log(recording), profile)
