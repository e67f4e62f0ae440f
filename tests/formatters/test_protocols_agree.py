"""Clients of the AI SDK, of AG-UI and of agent:event get the same content from a log.

Its texts, its calls with their inputs, and what came of them; without what was taken back. Three
things are told otherwise on purpose, and are named here: `told_otherwise`.
"""

import json
from pathlib import Path
from typing import NamedTuple

from hypothesis import given

from mobox.delivery import sse
from mobox.events import Done, LogEntry, StreamEvent, ToolResult, ToolUseEnd, ToolUseStart
from mobox.events.transcript import build_message
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ag_ui import snapshot
from mobox.formatters.ai_sdk import ui_message
from support.ag_ui_client import AGUIClients, AGUIMessages
from support.ai_sdk_client import AiSdkClients
from support.client_results import (
    ClientResult,
    Parts,
    as_text,
    by_ag_ui,
    by_ai_sdk,
    by_contract,
    hidden_in,
    own,
)
from support.recordings import RECORDINGS, each_recording, recorded_log
from support.strategies import logs


def told(log: list[LogEntry], protocol: str, profile: str) -> list[bytes]:
    """The response that tells a run, to its end or to where it waits."""
    formatter = get_formatter(protocol, "msg_1", profile)
    documents = format_all(formatter, log)
    return documents if isinstance(log[-1].event, Done) else documents + formatter.pause()


class Otherwise(NamedTuple):
    """The calls of a log that protocols tell each in its own way."""

    broken: dict[str, str]
    """Input that is no JSON. To the AI SDK's client such a call has failed before anything came of
    it; AG-UI's gets the text completed, as pages parse it."""
    at_work: set[str]
    """Only a part of a result is there: the AI SDK shows it, the others tell whole ones."""
    half: set[str]
    """The run waits before an input is whole: the contract tells whole ones."""


def told_otherwise(events: list[StreamEvent]) -> Otherwise:
    last = {event.id: event for event in events if isinstance(event, ToolResult)}
    begun = {str(event.id) for event in events if isinstance(event, ToolUseStart)}
    return Otherwise(
        {
            str(event.id): event.invalid
            for event in events
            if isinstance(event, ToolUseEnd) and event.invalid is not None
        },
        {str(name) for name, result in last.items() if result.partial},
        begun - {str(event.id) for event in events if isinstance(event, ToolUseEnd)},
    )


def assert_ai_sdk_has_the_same(log: list[LogEntry], parts: Parts, contract: ClientResult) -> None:
    special = told_otherwise([entry.event for entry in log])
    left_out = {*special.broken, *special.at_work}
    expected = contract.without(map(own, hidden_in(parts)))
    assert by_ai_sdk(parts).without_outputs(left_out) == expected.without_outputs(left_out)


def assert_ag_ui_has_the_same(
    log: list[LogEntry], messages: AGUIMessages, contract: ClientResult
) -> None:
    special = told_otherwise([entry.event for entry in log])
    heard = by_ag_ui(messages)
    calls = [call for message in messages for call in message.get("toolCalls", ())]
    given = {own(call["id"]): call["function"]["arguments"] for call in calls}
    assert heard.texts == contract.texts
    left_out = {*special.broken, *special.half}
    assert heard.without(left_out).calls == contract.without(left_out).calls
    for name, text in special.broken.items():
        assert name not in given or given[name].startswith(text)
    outputs, expected = (
        each.without_outputs(special.at_work).outputs for each in (heard, contract)
    )
    assert outputs.keys() == expected.keys()
    for name, (failed, output) in expected.items():
        assert outputs[name][0] == failed
        content = outputs[name][1]
        assert content == as_text(output) or json.loads(content) == output


@each_recording
def test_the_real_clients_end_with_the_same(
    ai_sdk: AiSdkClients, ag_ui: AGUIClients, recording: Path
) -> None:
    log = recorded_log(recording)
    contract = by_contract(told(log, "agent-event", "v1"))
    for client, profile in (("ai", "v7"), ("ai-v6", "v6")):
        reading = ai_sdk.read(client, sse.encode(told(log, "ai-sdk", profile)))
        assert reading.message is not None
        assert_ai_sdk_has_the_same(log, reading.message["parts"], contract)
    messages = ag_ui.read("1.0", told(log, "ag-ui", "1.0")).messages
    assert_ag_ui_has_the_same(log, messages, contract)


def test_the_recordings_have_something_to_compare() -> None:
    heard = [by_contract(told(recorded_log(each), "agent-event", "v1")) for each in RECORDINGS]
    assert sum(bool(each.texts) for each in heard) > 50
    assert sum(len(each.calls) for each in heard) > 100
    assert sum(failed for each in heard for failed, _ in each.outputs.values()) > 5


@given(logs())
def test_any_log_gives_the_same_to_all(log: list[LogEntry]) -> None:
    """By what the clients would have, which the laws of both protocols say."""
    contract = by_contract(told(log, "agent-event", "v1"))
    message = build_message(log, "msg_1")
    assert_ai_sdk_has_the_same(log, ui_message(message, "v6")["parts"], contract)
    assert_ag_ui_has_the_same(log, snapshot(message, "1.0"), contract)
