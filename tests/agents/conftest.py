"""The real clients, for tests of the repository's agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agents.agent_stage import Clients

pytest.register_assert_rewrite("agents.agent_stage")


@pytest.fixture(scope="session")
def clients(node: str) -> Iterator[Clients]:
    """`ai` 7, `@ag-ui/client` and `socket.io-client`, each in one Node process."""
    from agents.agent_stage import Clients

    with Clients(node) as clients:
        yield clients
