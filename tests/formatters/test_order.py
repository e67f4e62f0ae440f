"""The order of an answer is the same in every protocol: live, and in the stored message."""

from typing import Any

import msgspec
import pytest

from mobox import LogEntry, get_formatter
from mobox.events import Done, Start, Status, StreamEvent
from mobox.events.transcript import build_message
from mobox.formatters import format_all
from mobox.formatters.ag_ui import snapshot
from mobox.formatters.ai_sdk import ui_message
from support.ag_ui_client import AGUIClients
from support.client_results import own
from support.document_client import DocumentClient, charts_in, charts_of
from support.recordings import FOLDER, recorded_log

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


def documents_of(protocol: str, log: list[LogEntry], profile: str | None = None) -> list[bytes]:
    documents = format_all(get_formatter(protocol, "msg_1", profile), log)
    return [each for each in documents if each.startswith(b"{")]


def frames(protocol: str, profile: str) -> list[dict[str, Any]]:
    documents = documents_of(protocol, LOG, None if profile == "default" else profile)
    return [msgspec.json.decode(each) for each in documents]


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
    message = build_message(LOG, "msg_1")
    parts = [part["type"] for part in ui_message(message)["parts"]]
    assert parts == ["text", "data-step", "text", "dynamic-tool", "step-start"]
    assert [each["content"] for each in snapshot(message)[:2]] == ["Hello", "More"]


TOKENS = recorded_log(FOLDER / "emitted" / "tokens.jsonl")
THOUGHTS = [
    *("Let me look.", "Two sources agree.", "A third does not.", "So be it."),
    *("checker started: Check it", "Wait for it.", "checker finished: It holds"),
]


def test_thoughts_are_streamed_as_tokens_and_stored_as_paragraphs() -> None:
    chunks = [msgspec.json.decode(each) for each in documents_of("ai-sdk", TOKENS)]
    deltas = [each["delta"] for each in chunks if each["type"] == "reasoning-delta"]
    assert deltas[:3] == ["Let", " me", " look."]
    assert "".join(deltas).split("\n\n") == THOUGHTS
    assert sum(each["type"] == "reasoning-start" for each in chunks) == 1
    assert build_message(TOKENS, "msg_1").metadata["thinking"].split("\n\n") == THOUGHTS


def test_a_custom_value_replaces_the_one_with_its_name_and_id() -> None:
    parts = ui_message(build_message(TOKENS, "msg_1"))["parts"]
    assert [part for part in parts if part["type"] == "data-progress"] == [
        {"type": "data-progress", "id": "p1", "data": {"percent": 100}},
        {"type": "data-progress", "id": "p2", "data": {"percent": 10}},
    ]
    told = [msgspec.json.decode(each) for each in documents_of("ag-ui", TOKENS)]
    ids = [each["metadata"]["mobox"]["id"] for each in told if each.get("name") == "progress"]
    assert ids == ["p1", "p1", "p2"]


PREPARED: list[StreamEvent] = [
    Start(framework="test"),
    Status(message="Starting it", kind="preparation"),
    Status(message="Looking"),
    Done(reason="stop"),
]
PREPARATION = [LogEntry(seq, seq, 1000 * seq, event) for seq, event in enumerate(PREPARED, 1)]


@pytest.mark.parametrize("profile", ["v5", "v6", "v7"])
def test_a_preparation_is_only_a_transient_status(profile: str) -> None:
    chunks = [msgspec.json.decode(each) for each in documents_of("ai-sdk", PREPARATION, profile)]
    assert chunks[1] == {
        "type": "data-status",
        "data": {"message": "Starting it", "kind": "preparation"},
        "transient": True,
    }
    lines = [each["delta"] for each in chunks if each["type"] == "reasoning-delta"]
    assert lines == ["Looking"]


def test_a_preparation_is_not_in_the_stored_message() -> None:
    message = build_message(PREPARATION, "msg_1")
    assert message.metadata == {"processing": ["Looking"]}
    (processing,) = ui_message(message)["parts"]
    assert processing["text"] == "Looking"


def test_preparation_is_sent_as_a_status_line() -> None:
    told = [msgspec.json.decode(each) for each in documents_of("ag-ui", PREPARATION)]
    assert told[1] == {
        "type": "CUSTOM",
        "name": "mobox.status",
        "value": {"message": "Starting it", "kind": "preparation"},
    }
    lines = [each["value"].get("line") for each in told if each.get("name") == "mobox.processing"]
    assert lines == ["Looking", None]
    panes = [msgspec.json.decode(each) for each in documents_of("panes", PREPARATION)]
    assert [each["content"] for each in panes[:2]] == ["Starting it", "Looking"]
    assert not any(b"Starting" in each for each in documents_of("agent-event", PREPARATION))
    assert not any(b"Starting" in each for each in documents_of("ai-sdk", PREPARATION, "document"))


PLACEHOLDERS = recorded_log(FOLDER / "emitted" / "placeholders.jsonl")
NAMED = ["a", "b", "again", "b"]
"""The measurements that its placeholders name; the second names its call before that is told."""


@pytest.mark.parametrize("profile", ["1.0", "pre-1.0"])
def test_placeholders_name_calls_by_their_ids_on_the_wire(profile: str) -> None:
    client = DocumentClient()
    for document in documents_of("ag-ui", PLACEHOLDERS, profile):
        client.handle(msgspec.json.decode(document))
    assert client.charts == ["a", None, "again", "b"]  # it reads no MESSAGES_SNAPSHOT
    assert charts_of(snapshot(build_message(PLACEHOLDERS, "msg_1"), profile)) == NAMED


@pytest.mark.parametrize("profile", ["1.0", "pre-1.0"])
def test_the_real_client_finds_the_calls_wherever_it_joins(
    ag_ui: AGUIClients, profile: str
) -> None:
    for after in range(len(PLACEHOLDERS)):
        formatter = get_formatter("ag-ui", "msg_1", profile)
        format_all(formatter, PLACEHOLDERS[:after])
        begin = formatter.resume() if after else []
        documents = [*begin, *format_all(formatter, PLACEHOLDERS[after:])]
        assert charts_of(ag_ui.read(profile, documents).messages) == NAMED


@pytest.mark.parametrize("profile", ["v5", "v6", "v7"])
def test_placeholders_name_calls_of_the_ai_sdk_too(profile: str) -> None:
    parts = ui_message(build_message(PLACEHOLDERS, "msg_1"), profile)["parts"]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    tools = [part for part in parts if part["type"] == "dynamic-tool"]
    outputs = {own(each["toolCallId"]): each["output"] for each in tools}
    results = {name: msgspec.json.encode(output) for name, output in outputs.items()}
    assert charts_in(texts, results) == NAMED
