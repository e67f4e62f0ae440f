"""Compares the log of lines, however they are read, with the log of their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from mobox import LogEntry, Recorder
from mobox.capture.jsonlines import JsonLines
from mobox.events.entries import Entries
from mobox.parsers import get_parser
from mobox.storage.encoding import decode_pieces, encode_events

__all__ = [
    "as_stored",
    "assert_same_by_turns",
    "assert_same_log",
    "recorded",
    "takes_the_short_way",
]


def recorded(framework: str, *reads: bytes) -> list[LogEntry]:
    """The log of what was read so."""
    recorder = Recorder(framework)
    return [entry for data in reads for entry in recorder.read(data)] + recorder.close()


def assert_same_log(framework: str, lines: Sequence[bytes], cuts: Sequence[int]) -> None:
    """Line by line, all at once or cut anywhere, the log is that of the values."""
    recorder, body = Recorder(framework), b"".join(lines)
    values = JsonLines().feed(body)
    by_value = [entry for value in values for entry in recorder.feed([value])] + recorder.close()
    assert recorded(framework, *lines) == by_value
    assert recorded(framework, body) == by_value
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    assert recorded(framework, *(body[a:b] for a, b in pairwise(places))) == by_value


def assert_same_by_turns(framework: str, lines: Sequence[bytes]) -> None:
    """Also where lines and values take turns."""
    mixed, by_value, values = Recorder(framework), Recorder(framework), JsonLines()
    for number, text in enumerate(lines):
        raws = values.feed(text)
        told = by_value.feed(raws)
        assert (mixed.feed(raws) if number % 3 == 2 else mixed.read(text)) == told
    assert mixed.close() == by_value.close()


def takes_the_short_way(framework: str, before: Sequence[Any], line: Any) -> bool:
    """Whether a parser decodes this line itself, after these; its events are those of its value."""
    by_line, by_value = get_parser(framework), get_parser(framework)
    for value in before:
        assert by_line.feed_line(json.dumps(value).encode()) == by_value.feed(value)
    with patch.object(by_line, "feed", wraps=by_line.feed) as feed:
        events = by_line.feed_line(json.dumps(line).encode())
    assert events == by_value.feed(line)
    for value in (line, *before):  # the state is the same too
        assert by_line.feed(value) == by_value.feed(value)
    assert by_line.close() == by_value.close()
    return not feed.called


def as_stored(log: list[LogEntry], in_lines: bool = True) -> Entries:
    """The log as a store gives it back; before there were lines, a list had none."""
    ids, times = [entry.id for entry in log], [entry.ts for entry in log]
    rows = b",".join(row for _, row in encode_events([entry.event for entry in log]))
    pieces = decode_pieces(rows if in_lines else rows.replace(b",\n", b","))
    return Entries(log[-1].seq, pieces, lambda: ids, lambda: times)
