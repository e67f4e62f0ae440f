"""Hostile agents in the sandbox `process`: what docs/security.md says about each attack."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hostile.attacks import Attack
from hostile.columns import Column
from hostile.suite import ATTACKS, USERS, check_attack, check_server, served


@pytest.fixture(scope="module", params=USERS)
def running(request: pytest.FixtureRequest) -> Iterator[Column]:
    yield from served("process", request.param)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack(running: Column, attack: Attack) -> None:
    check_attack(running, attack)


def test_server_works_after_all_attacks(running: Column) -> None:
    check_server(running)
