"""The same with PostgreSQL, where a dead process is noticed when its lease has expired."""

from __future__ import annotations

import asyncio

import pytest

from supervisor.test_dying import asker, test_killed_server
from support.postgres_server import Databases

__all__ = ["asker", "test_killed_server"]


@pytest.fixture
def database(postgres: Databases) -> str:
    return asyncio.run(postgres.blank())
