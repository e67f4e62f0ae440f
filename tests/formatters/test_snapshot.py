"""A stored message as the client would have it, had it read the stream."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_sdk_client import AiSdkClients
from formatters.test_law import CLIENTS, comparable, without_last_step
from mobox.events import LogEntry
from mobox.formatters import format_all, get_formatter
from mobox.formatters.ai_sdk import ui_message
from mobox.transcript import fold
from strategies import logs

UIPart = dict[str, Any]


def as_in_javascript(value: Any) -> Any:
    """`value` with the numbers that JavaScript has: floats, of which it writes the infinite as null."""
    if isinstance(value, dict):
        return {name: as_in_javascript(child) for name, child in value.items()}
    if isinstance(value, list):
        return [as_in_javascript(child) for child in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= sys.float_info.max else None
    return value


def shown(parts: list[UIPart], profile: str) -> list[UIPart]:
    """What the law compares; an input of which nothing has come is none."""
    kept = comparable(without_last_step(parts), profile)
    read = [{k: v for k, v in part.items() if (k, v) != ("rawInput", "")} for part in kept]
    told: list[UIPart] = as_in_javascript(read)
    return told


def assert_law(ai_sdk: AiSdkClients, log: list[LogEntry], profile: str) -> None:
    formatter = get_formatter("ai-sdk", "msg_1", profile)
    reading = ai_sdk.read_chunks(CLIENTS[profile], format_all(formatter, log))
    assert reading.error is None
    client = reading.message["parts"] if reading.message is not None else []
    stored = ui_message(fold(log, "msg_1"), profile)
    assert shown(client, profile) == shown(stored["parts"], profile)
    if reading.message is not None and "metadata" in stored:
        metadata = as_in_javascript(reading.message["metadata"])
        assert metadata == as_in_javascript(stored["metadata"])


@pytest.mark.parametrize("profile", CLIENTS)
@settings(max_examples=60)
@given(log=logs(), cuts=st.lists(st.integers(min_value=1), max_size=3))
def test_any_message_is_reloaded_as_it_was_streamed(
    ai_sdk: AiSdkClients, profile: str, log: list[LogEntry], cuts: list[int]
) -> None:
    for k in {len(log), *(cut % len(log) + 1 for cut in cuts)}:
        assert_law(ai_sdk, log[:k], profile)
