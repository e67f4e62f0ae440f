"""The end of a log in memory."""

import pytest

from mobox.events import LogEntry, Status
from mobox.storage.following import Tail, Watch
from mobox.storage.log import Position


def entries(first: int, last: int) -> list[LogEntry]:
    return [LogEntry(seq, seq, None, Status(message="")) for seq in range(first, last + 1)]


def seqs(tail: Tail, after: int, limit: int = 1000) -> list[int]:
    return [entry.seq for entry in tail.after(after, limit)]


@pytest.mark.parametrize("after", range(5, 11))
def test_reading_after_a_place_gives_all_that_follows(after: int) -> None:
    tail = Tail()
    for first, last in [(6, 6), (7, 9), (10, 10)]:
        tail.add(entries(first, last), 1)
    assert seqs(tail, after) == list(range(after + 1, 11))
    assert seqs(tail, after, 2) == list(range(after + 1, 11))[:2]


def test_reading_after_an_older_place_is_not_possible() -> None:
    tail = Tail()
    assert seqs(tail, 0) == []
    tail.add(entries(6, 9), 1)
    assert seqs(tail, 4) == []


def test_the_oldest_goes_when_there_are_too_many_or_they_are_too_big() -> None:
    tail = Tail()
    for n in range(1, 300):
        tail.add(entries(n, n), 1)
    assert seqs(tail, 43) == list(range(44, 300))
    assert seqs(tail, 42) == []
    tail.add(entries(300, 300), 256 * 1024 - 1)
    assert seqs(tail, 298) == [299, 300]
    assert seqs(tail, 297) == []
    tail.add(entries(301, 301), 256 * 1024 + 1)
    assert tail.is_empty


def test_a_gap_is_never_bridged() -> None:
    tail = Tail()
    tail.add(entries(1, 2), 1)
    tail.add(entries(5, 6), 1)
    assert seqs(tail, 1) == []
    assert seqs(tail, 4) == [5, 6]


def test_late_notifications_change_nothing() -> None:
    watch = Watch()
    watch.advance(Position(5, "done"))
    watch.advance(Position(3, "running"))
    assert watch.position == Position(5, "done")
