"""What tests of supervisors share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.stage import nothing_left


@pytest.fixture
def clean(tmp_path: Path) -> Iterator[None]:
    """Nothing of the agents is left when a test is over."""
    with nothing_left(tmp_path):
        yield
