"""The law for AG-UI: what a client makes of a stream is what it is reloaded as, at any time.

`client(format(log[:k])) == snapshot(fold(log[:k]))` for every k, with the real clients; and who
joins after any k has in the end what everybody has.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mobox.events import Done, LogEntry
from mobox.events.transcript import Transcript
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ag_ui import AGUIFormatter, snapshot
from support.ag_ui_client import CLIENTS, AGUIClients, AGUIMessages, AGUIReading
from support.ai_sdk_client import as_in_javascript
from support.recordings import RECORDINGS, each_recording, name_of, timed_log
from support.strategies import ONE_ID_FOR_TWO_BLOCKS, THOUGHT_AFTER_NOTHING, logs, with_unknown

HISTORY = [
    {"id": "u1", "role": "user", "content": "What is the capital of France?"},
    {"id": "a1", "role": "assistant", "content": "Paris."},
    {"id": "u2", "role": "user", "content": "And of Portugal?"},
]

each_profile = pytest.mark.parametrize("profile", CLIENTS)


def comparable(messages: Sequence[dict[str, Any]]) -> AGUIMessages:
    """Arguments that are JSON by their value: pieces came with spaces, at rest there are none."""
    told: AGUIMessages = as_in_javascript([_comparable(message) for message in messages])
    return told


def _comparable(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {**call, "function": {**call["function"], "arguments": _parsed(call)}}
        for call in message.get("toolCalls", [])
    ]
    return {**message, "toolCalls": calls} if calls else message


def _parsed(call: dict[str, Any]) -> Any:
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return call["function"]["arguments"]


def assert_law(ag_ui: AGUIClients, log: list[LogEntry], profile: str) -> None:
    """For every k, also where the formatter writes nothing and the client stays as it was."""
    formatter, transcript = get_formatter("ag-ui", "run_1", profile), Transcript()
    reading = ag_ui.read_groups(profile, [formatter.format(entry) for entry in log])
    assert (reading.error, reading.warnings) == (None, [])
    client: AGUIMessages = []
    for k, (entry, after) in enumerate(zip(log, reading.after, strict=True), 1):
        transcript.add(entry.event, entry.ts)
        client = client if after is None else after
        stored = snapshot(transcript.message("run_1"), profile)
        assert comparable(client) == comparable(stored), f"entry {k}: {entry}"


@each_profile
@each_recording
def test_a_reloaded_run_is_the_one_that_was_streamed(
    ag_ui: AGUIClients, recording: Path, profile: str
) -> None:
    assert_law(ag_ui, timed_log(recording), profile)


def response(log: list[LogEntry], profile: str, after: int) -> list[bytes]:
    """What is sent to a client that joins after that many entries."""
    formatter = AGUIFormatter(
        "run_1", profile, thread_id="thread_7", run_id="joined", history=HISTORY
    )
    format_all(formatter, log[:after])
    prelude = formatter.resume() if after else []
    tail = format_all(formatter, log[after:])
    if after < len(log) and isinstance(log[-1].event, Done):
        return prelude + tail
    return prelude + tail + formatter.pause()


VARIED = {
    *("adk/confirmation", "adk/parallel", "adk/state_artifact", "adk/transfer"),
    *("claude/agent_ask", "claude/agent_cut", "claude/agent_sub_async_all", "claude/badjson"),
    *("claude/codeexec", "claude/overload", "deepagents/protocol", "emitted/every_event"),
    *("emitted/every_line", "gemini/hosted", "gemini/partial", "langchain/parts_hitl"),
    *("langchain/protocol_everything", "openai/chat_tools", "openai/dialects"),
    *("openai/responses_hosted", "openai/responses_rare", "openai-agents/approval_1"),
    *("openai-agents/handoff", "smolagents/code_planning", "smolagents/managed"),
}
"""Recordings with all that can be open where somebody joins."""
CUT = [path for path in RECORDINGS if name_of(path) in VARIED]


def test_the_varied_recordings_are_there() -> None:
    assert len(CUT) == len(VARIED) >= 20


@each_profile
@pytest.mark.parametrize("recording", CUT, ids=name_of)
def test_client_joining_after_any_entry_has_what_all_have(
    ag_ui: AGUIClients, recording: Path, profile: str
) -> None:
    log = timed_log(recording)
    whole = ag_ui.read(profile, response(log, profile, 0), HISTORY)
    for after in range(1, len(log) + 1):
        joined = ag_ui.read(profile, response(log, profile, after))
        assert (joined.error, joined.warnings) == (None, []), after
        assert comparable(joined.messages) == comparable(whole.messages), after
        assert joined.state == whole.state, after
        assert ending(joined) == ending(whole), after


def ending(reading: AGUIReading) -> tuple[Any, ...]:
    return (
        *(reading.outcome, reading.run_error, reading.interrupts, reading.pending),
        reading.usage,
    )


@each_profile
@settings(max_examples=100)  # the first reading loads the client
@given(log=logs())
def test_the_law_holds_for_any_log(ag_ui: AGUIClients, profile: str, log: list[LogEntry]) -> None:
    assert_law(ag_ui, log, profile)


@each_profile
@settings(max_examples=50)
@given(log=logs(), place=st.integers(min_value=0))
def test_anyone_may_join_any_log(
    ag_ui: AGUIClients, profile: str, log: list[LogEntry], place: int
) -> None:
    whole = ag_ui.read(profile, response(log, profile, 0), HISTORY)
    assert (whole.error, whole.warnings) == (None, [])
    joined = ag_ui.read(profile, response(log, profile, 1 + place % len(log)))
    assert (joined.error, joined.warnings) == (None, [])
    assert comparable(joined.messages) == comparable(whole.messages)
    assert joined.state == whole.state
    assert ending(joined) == ending(whole)


@each_profile
@settings(max_examples=50)
@given(log=logs(), lost=st.sets(st.integers(1, 20)))
@example(log=ONE_ID_FOR_TWO_BLOCKS, lost={3, 4})
@example(log=THOUGHT_AFTER_NOTHING, lost={4, 7})
def test_the_law_holds_for_the_log_of_a_later_version(
    ag_ui: AGUIClients, profile: str, log: list[LogEntry], lost: set[int]
) -> None:
    assert_law(ag_ui, with_unknown(log, lost), profile)
