"""Deltas kept as one are the same entries, wherever a log is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.events import LogEntry, Status, StreamEvent, TextDelta, ThinkingDelta
from mobox.events.entries import NO_ENTRIES, Deltas, gathered, spread
from mobox.formatters import format_all, get_formatter, profiles_of, protocols
from support.slow_path import as_stored
from support.strategies import logs


def test_deltas_of_a_block_are_joined_until_another_event() -> None:
    said: list[StreamEvent] = [
        *(TextDelta(id="a", delta=delta) for delta in "xyz"),
        ThinkingDelta(id="a", delta="t"),
        TextDelta(id="b", delta="u"),
        TextDelta(id="b", scope=("s",), delta="v"),
        Status(message="m"),
        TextDelta(id="b", provider={"p": 1}, delta="w"),
        TextDelta(id="b", delta="x"),
    ]
    pieces = gathered(said)
    told = [list(piece.texts) if isinstance(piece, Deltas) else type(piece) for piece in pieces]
    one_by_one = [ThinkingDelta, TextDelta, TextDelta, Status, TextDelta, TextDelta]
    assert told == [["x", "y", "z"], *one_by_one]
    assert list(spread(pieces)) == said


@given(logs(), st.data())
def test_entries_are_a_sequence_like_any_other(log: list[LogEntry], data: st.DataObject) -> None:
    entries = as_stored(log)
    assert list(entries) == log
    assert len(entries) == len(log)
    cut = data.draw(st.slices(len(log)).filter(lambda cut: cut.step in (None, 1)))
    assert list(entries[cut]) == log[cut]
    place = data.draw(st.integers(-len(log), len(log) - 1))
    assert entries[place] == log[place]
    again = data.draw(st.slices(len(entries[cut])).filter(lambda cut: cut.step in (None, 1)))
    assert list(entries[cut][again]) == log[cut][again]


def test_no_entry_has_no_first() -> None:
    assert list(NO_ENTRIES) == []
    with pytest.raises(IndexError):
        NO_ENTRIES[0]


TELLERS = [(protocol, profile) for protocol in protocols() for profile in profiles_of(protocol)]
"""Every protocol with each of its profiles."""


@given(log=logs(), place=st.integers(0, 30), in_lines=st.booleans())
def test_every_protocol_formats_them_as_one_by_one(
    log: list[LogEntry], place: int, in_lines: bool
) -> None:
    entries = as_stored(log, in_lines)
    for protocol, profile in TELLERS:
        at_once, one_by_one = (get_formatter(protocol, "msg_1", profile) for _ in range(2))
        told = format_all(at_once, entries[:place]) + format_all(at_once, entries[place:])
        each = [document for entry in log for document in one_by_one.format(entry)]
        assert told == each, f"{protocol} {profile}"


def test_protocols_exist_to_format_them() -> None:
    assert len(TELLERS) > 10
