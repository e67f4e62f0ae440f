"""A supervisor that drains: what runs may finish, and everything else is left to others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mobox.settings import Settings
from supervisor.stage import let_pass, reason_of, staged, submit, text_of, write_agent

pytestmark = pytest.mark.usefixtures("clean")

LINGERING = """
    emit_text(read_turn().prompt)
    emit_done()
    wait_for("go")
"""
LIMITS = Settings(
    look=3600, sweep=3600, notice=3600, exit_seconds=60, drain=60, max_runs_per_owner=2
)
CLAIMING = Settings(look=0.02, sweep=3600, notice=3600)


async def test_runs_whose_agents_have_not_started_are_executed_by_the_next_server(
    tmp_path: Path,
) -> None:
    agent = write_agent(tmp_path / "lingering", LINGERING)
    async with staged(tmp_path, agent, limits=LIMITS) as stage:
        first = await stage.begin()
        await stage.until_it_ends(first)  # its process is still there
        second = await stage.begin(submit("second", "m2"))
        draining = asyncio.create_task(stage.supervisor.drain())
        await let_pass(3)
        late = await stage.begin(submit("late", "m1", "other"))
        (stage.state / "go").touch()
        await draining
        for run in (second, late):
            found = await stage.store.run("ann", run.id)
            assert (found.status, found.lease_owner, found.tail_seq) == ("running", None, 0)
    async with staged(tmp_path, agent, limits=CLAIMING) as stage:
        for run, text in ((second, "second"), (late, "late")):
            events = await stage.until_it_ends(run)
            assert (reason_of(events), text_of(events)) == ("stop", text)
        for state in (tmp_path / "state").iterdir():
            (state / "go").touch()


async def test_runs_count_once_while_a_server_drains(tmp_path: Path) -> None:
    code = 'read_turn(); (state / "ready").touch(); wait_for("go"); emit_done()'
    agent = write_agent(tmp_path / "slow", code)
    async with staged(tmp_path, agent, limits=LIMITS) as stage:
        await stage.begin(submit(key="k1"))
        await stage.told("ready")
        draining = asyncio.create_task(stage.supervisor.drain())
        await let_pass(3)
        late = await stage.begin(submit("late", "m1", "other", key="k2"))
        assert late.lease_owner is None
        (stage.state / "go").touch()
        await draining
