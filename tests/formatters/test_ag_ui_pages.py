"""The states of pages come in where they came in, however the log is read."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mobox.events import Done, LogEntry, Start, State, StreamEvent, Text, TextDelta, TextEnd
from mobox.formatters import format_all
from mobox.formatters.ag_ui import AGUIFormatter
from mobox.formatters.ag_ui.state import PageState, PageStateFormatter


def patch(name: str, value: int) -> State:
    return State(mode="patch", value=[{"op": "replace", "path": f"/{name}", "value": value}])


EVENTS: list[StreamEvent] = [
    Start(framework="emitted"),
    patch("a", 2),
    Text(id="text_1"),
    TextDelta(id="text_1", delta="Hi"),
    patch("b", 3),
    TextEnd(id="text_1"),
    patch("a", 4),
    Done(reason="stop"),
]
LOG = [LogEntry(seq, seq, None, event) for seq, event in enumerate(EVENTS, 1)]
STATES = [PageState(0, {"a": 1}), PageState(3, {"a": 5, "b": 1})]


def knowing(states: list[PageState]) -> PageStateFormatter:
    return PageStateFormatter(AGUIFormatter("run_1"), states)


def told(documents: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(document) for document in documents]


def state_of(documents: list[bytes]) -> Any:
    return [each["snapshot"] for each in told(documents) if each["type"] == "STATE_SNAPSHOT"]


def test_patches_are_of_what_the_page_had() -> None:
    kinds = [each["type"] for each in told(format_all(knowing(STATES), LOG))]
    assert kinds.count("STATE_DELTA") == 3
    assert "STATE_SNAPSHOT" not in kinds


def test_joining_client_has_the_current_state() -> None:
    expected = [{"a": 1}, {"a": 2}, {"a": 5, "b": 1}, {"a": 5, "b": 1}, {"a": 5, "b": 3}]
    for seen, state in zip([1, 2, 3, 4, 5], expected, strict=True):
        formatter = knowing(STATES)
        format_all(formatter, LOG[:seen])
        assert state_of(formatter.resume()) == [state]


@given(st.sets(st.integers(1, len(LOG) - 1)), st.sets(st.integers(0, len(LOG))))
def test_a_log_may_be_read_in_any_pieces(cuts: set[int], afters: set[int]) -> None:
    states = [PageState(after, {"a": after, "b": after}) for after in sorted(afters)]
    one_by_one, in_pieces = knowing(states), knowing(states)
    expected = [document for entry in LOG for document in one_by_one.format(entry)]
    places = [0, *sorted(cuts), len(LOG)]
    batches = [LOG[start:end] for start, end in pairwise(places)]
    assert [each for batch in batches for each in format_all(in_pieces, batch)] == expected


def test_pages_without_state_change_nothing() -> None:
    assert format_all(knowing([]), LOG) == format_all(AGUIFormatter("run_1"), LOG)
    paused = AGUIFormatter("run_1")
    format_all(paused, LOG[:3])
    formatter = knowing([])
    format_all(formatter, LOG[:3])
    assert formatter.pause() == paused.pause()
