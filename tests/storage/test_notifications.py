"""News on its way: whatever is merged, and whatever comes in."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobox.storage.log import Position, RunId
from mobox.storage.notifications import (
    MOST_BYTES,
    Notification,
    Outbox,
    RunNotice,
    read_notification,
    write_notification,
)

run_ids = st.sampled_from(["r1", "r2", "r3", "r4"]).map(RunId)
positions = st.builds(
    Position, st.integers(0, 2**53), st.sampled_from(["running", "waiting", "done"])
)
news = st.builds(
    RunNotice,
    positions=st.dictionaries(run_ids, positions),
    chats=st.lists(st.text(max_size=3), unique=True, max_size=4).map(tuple),
    work=st.booleans(),
    everything=st.booleans(),
)
told = st.lists(st.one_of(news, st.none()), max_size=12)
"""News as it comes; `None` is when somebody takes what there is."""


def through(outbox: Outbox, steps: Sequence[RunNotice | None]) -> list[list[RunNotice]]:
    """What went in before each time that something was taken, and then what was."""
    rounds: list[list[RunNotice]] = [[]]
    for step in [*steps, None]:
        if step is not None:
            outbox.add(step)
            rounds[-1].append(step)
        else:
            rounds[-1].append(outbox.take())
            rounds.append([])
    return rounds[:-1]


def farthest(all_news: Sequence[RunNotice], run_id: RunId) -> int:
    return max(one.positions[run_id].tail for one in all_news if run_id in one.positions)


@given(told)
def test_what_is_taken_says_all_that_was_told_and_nothing_else(
    steps: list[RunNotice | None],
) -> None:
    for *put, taken in through(Outbox(), steps):
        assert taken.work == any(one.work for one in put)
        assert taken.everything == any(one.everything for one in put)
        if not taken.everything:
            assert {*taken.chats} == {chat for one in put for chat in one.chats}
            assert taken.positions.keys() == {run for one in put for run in one.positions}
            for run_id, position in taken.positions.items():
                assert position.tail == farthest(put, run_id)
                assert position in [one.positions.get(run_id) for one in put]


@given(told, st.integers(0, 5))
def test_what_is_too_much_is_everything(steps: list[RunNotice | None], most: int) -> None:
    for *put, taken in through(Outbox(most), steps):
        chats = {chat for one in put for chat in one.chats}
        names = len(chats) + len({run for one in put for run in one.positions})
        assert len(taken.positions) + len(taken.chats) <= most
        assert taken.everything == (names > most or any(one.everything for one in put))
        assert taken.work == any(one.work for one in put)


@given(told)
def test_what_could_not_be_told_is_told_later(steps: list[RunNotice | None]) -> None:
    put_back, straight = Outbox(), Outbox()
    for step in steps:
        if step is None:
            put_back.add(put_back.take())
        else:
            put_back.add(step)
            straight.add(step)
    assert bool(put_back) == bool(straight)
    late, early = put_back.take(), straight.take()
    assert {run: place.tail for run, place in late.positions.items()} == {
        run: place.tail for run, place in early.positions.items()
    }
    assert ({*late.chats}, late.work, late.everything) == (
        {*early.chats}, early.work, early.everything,
    )  # fmt: skip
    assert not put_back


@given(st.text(), news)
def test_a_letter_is_read_as_it_was_written(sender: str, sent: RunNotice) -> None:
    letter = Notification(sender, sent)
    assert read_notification(write_notification(letter)) == letter
    json.loads(write_notification(letter))


def test_a_letter_that_would_be_too_long_says_look_at_everything() -> None:
    chats = tuple(f"{n}" * 1000 for n in range(1000))
    data = write_notification(Notification("me", RunNotice(chats=chats, work=True)))
    assert read_notification(data) == Notification("me", RunNotice(everything=True, work=True))


@given(st.one_of(st.binary(), st.text().map(str.encode), st.from_regex(rb'\{"sender":.*\}')))
def test_what_is_no_letter_is_nothing(data: bytes) -> None:
    try:
        wrong = not isinstance(json.loads(data).get("news"), dict)
    except (ValueError, AttributeError):
        wrong = True
    if wrong:
        assert read_notification(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"\xff\xfe",
        b'{"sender":"x"}',
        b'{"sender":1,"news":{}}',
        b'{"sender":"x","news":{"work":1}}',
        b'{"sender":"x","news":{"positions":{"r":7}}}',
        b'{"sender":"x","news":{"positions":{"r":{"tail":"7","status":"done"}}}}',
        b'{"sender":"x","news":{"positions":{"r":{"tail":7,"status":"dreaming"}}}}',
        b'{"sender":"\xff","news":{}}',
        b'{"sender":"x","more":' + b"[" * 100_000,
        b'{"sender":"x","news":{}}' + b" " * MOST_BYTES,
    ],
    ids=lambda data: data[:60].decode(errors="replace"),
)
def test_what_is_almost_a_letter_is_nothing(data: bytes) -> None:
    assert read_notification(data) is None
    assert read_notification(b'{"sender":"x","news":{}}') == Notification("x", RunNotice())
