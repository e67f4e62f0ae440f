"""A copy of a formatter tells how a response ends; the formatter goes on, asked or not."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from mobox import LogEntry
from mobox.events import Paused
from mobox.formatters import StoredRun, format_all, formatter_of_run, profiles_of, protocols
from support.recordings import each_recording, recorded_log

RUN = StoredRun(id="run_1", chat_id="chat", owner="ann", first_event_index=3)
FEW = 5


def places(log: list[LogEntry]) -> set[int]:
    """Where a run waits, and some others: a formatter may be asked anywhere."""
    some = range(1, len(log) + 1, len(log) // FEW + 1)
    return {entry.seq for entry in log if isinstance(entry.event, Paused)} | {*some}


@pytest.mark.parametrize(
    ("protocol", "profile"), [(name, each) for name in protocols() for each in profiles_of(name)]
)
@each_recording
def test_copy_ends_a_response_as_the_formatter_would(
    recording: Path, protocol: str, profile: str
) -> None:
    log = recorded_log(recording)
    asked, unasked = (formatter_of_run(protocol, RUN, profile) for _ in range(2))
    wanted = places(log)
    for entry in log:
        assert asked.format(entry) == unasked.format(entry)
        if entry.seq in wanted:
            fresh = formatter_of_run(protocol, RUN, profile)
            format_all(fresh, log[: entry.seq])
            assert deepcopy(asked).pause() == fresh.pause()
