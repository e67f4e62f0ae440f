"""The order of an answer is the same in every protocol: live, and in the stored message."""

from typing import Any

import msgspec
import pytest

from mobox import get_formatter
from mobox.formatters import format_all
from mobox.formatters.ag_ui import snapshot
from mobox.formatters.ai_sdk import ui_message
from mobox.transcript import fold
from recorded import FOLDER, recorded_log

LOG = recorded_log(FOLDER / "emitted" / "text_step_text.jsonl")

LIVE: dict[tuple[str, str], dict[str, str]] = {
    ("ai-sdk", profile): {
        "text-start": "text",
        "data-step": "step",
        "tool-input-available": "tool",
    }
    for profile in ("v5", "v6", "v7")
} | {
    ("ai-sdk", "document"): {"text-start": "text", "tool-input-available": "tool"},
    ("ag-ui", "1.0"): {
        "TEXT_MESSAGE_START": "text",
        "STEP_STARTED": "step",
        "TOOL_CALL_START": "tool",
    },
    ("ag-ui", "pre-1.0"): {
        "TEXT_MESSAGE_START": "text",
        "STEP_STARTED": "step",
        "TOOL_CALL_START": "tool",
    },
    ("agent-event", "default"): {"message": "text", "tool_use": "tool"},
    ("canonical", "default"): {"text": "text", "step_start": "step", "tool_use_start": "tool"},
}
"""For each protocol and profile, what its first frame of each kind of block is."""

NO_STEPS = {("ai-sdk", "document"), ("agent-event", "default")}
"""Protocols that have no frame for a step."""


def frames(protocol: str, profile: str) -> list[dict[str, Any]]:
    formatter = get_formatter(protocol, "msg_1", None if profile == "default" else profile)
    documents = format_all(formatter, LOG)
    return [msgspec.json.decode(each) for each in documents if each.startswith(b"{")]


@pytest.mark.parametrize(("protocol", "profile"), LIVE)
def test_a_step_stands_between_the_texts_before_and_after_it(protocol: str, profile: str) -> None:
    kinds = LIVE[protocol, profile]
    told = [each.get("event", each) for each in frames(protocol, profile)]
    shown = [
        kinds[each["type"]]
        for each in told
        if each["type"] in kinds and each.get("data", {}).get("status") != "interrupted"
    ]
    between = [] if (protocol, profile) in NO_STEPS else ["step"]
    assert shown == ["text", *between, "text", "tool"]


def test_the_texts_are_two_messages_in_the_chat_pane() -> None:
    in_chat = [
        each for each in frames("panes", "document") if each["metadata"]["component"] == "chat"
    ]
    whole = [each["content"] for each in in_chat if each["metadata"]["status"] == "done"]
    assert whole == ["Hello", "More"]


def test_the_stored_message_has_the_same_order() -> None:
    message = fold(LOG, "msg_1")
    parts = [part["type"] for part in ui_message(message)["parts"]]
    assert parts == ["text", "data-step", "text", "dynamic-tool"]
    assert [each["content"] for each in snapshot(message)[:2]] == ["Hello", "More"]
