"""What a person wrote beside their yes or no is the `reason` in every protocol."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mobox.events import (
    JSON,
    Done,
    Events,
    InputRequest,
    InputResponse,
    LogEntry,
    Paused,
    ToolResult,
    ToolUseEnd,
    ToolUseStart,
)
from mobox.events.transcript import Transcript
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ai_sdk.snapshot import ui_message
from mobox.lifecycle import Lifecycle

WHY = "It is the only copy."
NO = InputResponse(id="r", decision="denied", reason=WHY)
OLD = InputResponse(id="r", decision="denied", value=WHY)
"""As logs of older versions have it."""


def log_of(answer: InputResponse, *, is_approval: bool = True) -> list[LogEntry]:
    call = [ToolUseStart(id="c", name="delete_file"), ToolUseEnd(id="c", input={})]
    asked = InputRequest(id="r", tool_call_id="c") if is_approval else InputRequest(id="r")
    events: Events = [*call, asked, Paused(request_ids=("r",)), answer]
    lifecycle = Lifecycle("test")
    logged = lifecycle.feed_all([*events, ToolResult(id="c", status="denied"), Done(reason="stop")])
    return [LogEntry(n, n, None, event) for n, event in enumerate(logged + lifecycle.close(), 1)]


def documents(protocol: str, log: list[LogEntry], **options: str) -> list[dict[str, Any]]:
    lines = format_all(get_formatter(protocol, "run", **options), log)
    return [msgspec.json.decode(line) for line in lines if line.startswith(b"{")]


@pytest.mark.parametrize("answer", [NO, OLD], ids=["new", "old"])
def test_an_approval_of_the_ai_sdk_has_the_reason(answer: InputResponse) -> None:
    found = documents("ai-sdk", log_of(answer), profile="v7")
    (told,) = [each for each in found if each["type"] == "tool-approval-response"]
    assert (told["approved"], told["reason"]) == (False, WHY)


@pytest.mark.parametrize("answer", [NO, OLD], ids=["new", "old"])
def test_an_approval_at_rest_of_the_ai_sdk_has_the_reason(answer: InputResponse) -> None:
    transcript = Transcript()
    for entry in log_of(answer):
        transcript.add(entry.event, entry.ts)
    message = ui_message(transcript.message("run"), "v7")
    (part,) = [each for each in message["parts"] if each.get("toolCallId") == "run:c"]
    assert (part["approval"]["approved"], part["approval"]["reason"]) == (False, WHY)


def test_another_request_of_the_ai_sdk_has_the_reason() -> None:
    told = documents("ai-sdk", log_of(NO, is_approval=False))
    outputs = [each["output"] for each in told if each["type"] == "tool-output-available"]
    assert outputs == [{"approved": False, "reason": WHY}]
    told = documents("ai-sdk", log_of(NO, is_approval=False), profile="page")
    answered = [part["data"].get("answered") for part in told if part["type"] == "data-input"]
    assert answered == [None, {"decision": "denied", "reason": WHY}]


def test_ag_ui_has_the_reason() -> None:
    told: list[JSON] = [
        event["value"]
        for event in documents("ag-ui", log_of(NO))
        if event.get("name") == "mobox.input_response"
    ]
    assert [(each["decision"], each["reason"], "value" in each) for each in told] == [
        ("denied", WHY, False)
    ]


@pytest.mark.parametrize("answer", [NO, OLD], ids=["new", "old"])
def test_panes_have_the_reason(answer: InputResponse) -> None:
    found = [each.get("metadata", {}) for each in documents("panes", log_of(answer))]
    assert {about["reason"] for about in found if about.get("decision") == "denied"} == {WHY}
