"""The delays between retries, and operations that are retried."""

import asyncio
import random

import pytest

from mobox.errors import StorageUnavailable
from mobox.storage.retry import Backoff, retry_while_unavailable


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(0.1, 1, jitter=0)
    assert [round(backoff.delay(), 3) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1, 1]
    backoff.reset()
    assert backoff.delay() == 0.1


def test_jitter_takes_away_up_to_half_of_a_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    for share, expected in ((0, [0.05, 0.1]), (1, [0.1, 0.2])):
        monkeypatch.setattr(random, "uniform", lambda low, high, s=share: low + s * (high - low))
        backoff = Backoff(0.1, 1)
        assert [backoff.delay(), backoff.delay()] == expected


async def test_an_operation_is_retried_while_the_database_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def operation(result: str, *, fails: int) -> str:
        if len(waits) < fails:
            raise StorageUnavailable
        return result

    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert await retry_while_unavailable(operation, "done", fails=8) == "done"
    assert len(waits) == 8
    assert 0.02 < waits[0] <= 0.05
    assert max(waits) <= 0.5
