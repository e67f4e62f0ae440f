"""How long an agent may take, as the seconds pass."""

from __future__ import annotations

from mobox.capture.catalog import Timeouts
from mobox.supervisor.timeouts import Deadlines

TIMEOUTS = Timeouts(idle=10, total=100)


def deadlines() -> Deadlines:
    return Deadlines(TIMEOUTS, hold=50, now=1000)


def test_an_agent_has_to_say_something_now_and_then() -> None:
    agent = deadlines()
    assert agent.next == 1010
    agent.note(1004, waits=False)
    assert agent.next == 1014
    assert agent.problem().code == "idle_timeout"


def test_whatever_it_says_it_has_to_end() -> None:
    agent = deadlines()
    for now in range(1000, 1096, 5):
        agent.note(now, waits=False)
    assert agent.next == 1100
    assert agent.problem().code == "timeout"


def test_while_it_waits_it_is_held_however_much_it_says() -> None:
    agent = deadlines()
    agent.note(1005, waits=True)
    agent.note(1030, waits=True)
    assert agent.next == 1055


def test_the_time_that_it_waits_is_not_its_own() -> None:
    agent = deadlines()
    agent.note(1040, waits=True)
    agent.note(1080, waits=False)
    assert agent.next == 1090
    for now in range(1085, 1136, 5):
        agent.note(now, waits=False)
    assert agent.next == 1140


def test_it_may_wait_again_as_long_as_before() -> None:
    agent = deadlines()
    agent.note(1010, waits=True)
    agent.note(1050, waits=False)
    agent.note(1055, waits=True)
    assert agent.next == 1105


def test_the_time_that_it_is_frozen_is_not_its_own() -> None:
    agent = deadlines()
    agent.skip(200)
    assert agent.next == 1210
    for now in range(1200, 1296, 5):
        agent.note(now, waits=False)
    assert agent.next == 1300
    agent.note(1296, waits=True)
    agent.skip(200)
    assert agent.next == 1296 + 200 + 50
