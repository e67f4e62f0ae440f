"""Property tests draw the same examples everywhere, and print the one that fails."""

import pytest
import schemathesis  # which replaces hypothesis' printer
from hypothesis import given, settings
from hypothesis import strategies as st

from mobox.events import LogEntry
from support.strategies import logs


def test_counterexample_is_printed() -> None:
    assert schemathesis.__version__

    @given(log=logs())
    def fails(log: list[LogEntry]) -> None:
        assert not log

    with pytest.raises(AssertionError) as failure:
        fails()
    notes = "\n".join(failure.value.__notes__)
    assert "log=numbered(log_of([], None))" in notes


def test_examples_are_the_same_at_every_run() -> None:
    def drawn() -> list[str]:
        seen: list[str] = []

        @given(st.binary(max_size=40))
        def draw(data: bytes) -> None:
            seen.append(data.hex())

        draw()
        return seen

    profile = settings.get_current_profile_name()
    assert profile == "fuzz" or drawn() == drawn()
