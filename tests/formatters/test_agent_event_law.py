"""The same log tells the same to clients of the contract and of the AI SDK.

Its texts, its calls with their inputs, and what came of them; without what was taken back.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings

from ai_sdk_client import AiSdkClients
from grammar_agent_event import check_agent_events
from mobox.delivery import sse
from mobox.events import Done, LogEntry, ToolResult
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ai_sdk import ui_message
from mobox.formatters.ai_sdk.tools import INVALID_INPUT
from mobox.pipeline import Recorder
from mobox.transcript import fold
from strategies import logs

RECORDINGS = sorted(
    path for path in Path(__file__).parent.parent.glob("recordings/*/*") if path.is_file()
)
each_recording = pytest.mark.parametrize(
    "recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
Parts = list[dict[str, Any]]


class Heard(NamedTuple):
    """What a client has of a run in the end."""

    texts: list[str]
    calls: dict[str, tuple[str, Any]]
    outputs: dict[str, tuple[bool, Any]]


def log_of(recording: Path) -> list[LogEntry]:
    recorder = Recorder(recording.parent.name)
    return recorder.read(recording.read_bytes()) + recorder.close()


def by_contract(log: list[LogEntry], hidden: set[str]) -> Heard:
    """What a client of the contract has, without the calls that the AI SDK's hides by name."""
    documents = format_all(get_formatter("agent-event", "msg_1"), log)
    run = check_agent_events(documents, waits=not isinstance(log[-1].event, Done))
    open_ = {n: {"type": kind, "content": text} for n, (kind, text, _) in run.open.items()}
    blocks = run.blocks | open_  # where a run waits
    shown = [blocks[index] for index in sorted(blocks.keys() - run.retracted)]
    calls = {
        event["tool_call_id"]: (event["tool_name"], event["tool_input"])
        for event in shown
        if event["type"] == "tool_use" and event["tool_call_id"] not in hidden
    }
    outputs = {
        name: (result.get("isError", False), result["result"])
        for name, result in run.results.items()
        if name in calls
    }
    texts = [event["content"] for event in shown if event["type"] == "message"]
    return Heard(list(filter(None, texts)), calls, outputs)


def hidden_in(parts: Parts) -> set[str]:
    lists = [part["data"]["ids"] for part in parts if part["type"] == "data-retract"]
    return {name for names in lists for name in names}


def by_ai_sdk(parts: Parts) -> Heard:
    hidden = hidden_in(parts)
    texts = [
        part["text"]
        for part in parts
        if part["type"] == "text" and part["providerMetadata"]["mobox"]["id"] not in hidden
    ]
    tools = [
        part
        for part in parts
        if part["type"] == "dynamic-tool"
        and part["toolCallId"] not in hidden
        and part["state"] != "input-streaming"  # where a run waits: the contract tells whole ones
    ]
    calls = {part["toolCallId"]: (part["toolName"], given_to(part)) for part in tools}
    outputs = {part["toolCallId"]: output_of(part) for part in tools}
    known = {name: output for name, output in outputs.items() if output is not None}
    return Heard(list(filter(None, texts)), calls, known)


def given_to(part: dict[str, Any]) -> dict[str, Any]:
    """An input, in the contract's words: an object, whatever the model wrote."""
    given = part.get("input", part.get("rawInput"))
    return given if isinstance(given, dict) else {"input": given}


def output_of(part: dict[str, Any]) -> tuple[bool, Any] | None:
    if part["state"] == "output-error":
        return True, part["errorText"]
    return (False, part.get("output")) if part["state"] == "output-available" else None


def assert_same(log: list[LogEntry], parts: Parts) -> None:
    told, expected = by_contract(log, hidden_in(parts)), by_ai_sdk(parts)
    assert told.texts == expected.texts
    assert told.calls == expected.calls
    # A call with a broken input has failed in the AI SDK before anything came of it, and of one
    # that is still at work the contract tells nothing.
    broken: set[str | None] = {
        name for name, (_, said) in expected.outputs.items() if said == INVALID_INPUT
    }
    left_out = broken | at_work(log)
    assert without(left_out, told.outputs) == without(left_out, expected.outputs)


def at_work(log: list[LogEntry]) -> set[str | None]:
    """The calls whose last result is a part of one."""
    results = [entry.event for entry in log if isinstance(entry.event, ToolResult)]
    last = {result.id: result for result in results}
    return {name for name, result in last.items() if result.partial}


def without(names: set[str | None], outputs: dict[str, Any]) -> dict[str, Any]:
    return {name: output for name, output in outputs.items() if name not in names}


@each_recording
def test_the_real_client_of_the_ai_sdk_is_told_the_same(
    ai_sdk: AiSdkClients, recording: Path
) -> None:
    log = log_of(recording)
    formatter = get_formatter("ai-sdk", "msg_1", "v6")
    documents = format_all(formatter, log)
    documents += [] if isinstance(log[-1].event, Done) else formatter.pause()
    reading = ai_sdk.read("ai-v6", sse.encode(documents))
    assert reading.message is not None
    assert_same(log, reading.message["parts"])


@settings(deadline=None)
@given(logs())
def test_any_log_tells_both_the_same(log: list[LogEntry]) -> None:
    """By what the AI SDK's client would have, which its own law says."""
    assert_same(log, ui_message(fold(log, "msg_1"), "v6")["parts"])
