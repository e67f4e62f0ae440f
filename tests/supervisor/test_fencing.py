"""No agent acts beside another one of its chat, whatever its server is cut off from.

The servers have separate folders, so that no lock of a folder keeps their agents apart. The agents
act without speaking: nothing but their leases can stop them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from mobox.capture.catalog import Agent
from mobox.settings import Settings
from mobox.storage.log import Run
from mobox.storage.renewals import since_boot
from mobox.storage.retry import retry_while_unavailable
from supervisor.stage import Stage, approved, reason_of, staged, submit, text_of, write_agent
from support.acting_agents import ACTING, ASKING, YAML, Acts, is_frozen
from support.postgres_proxy import Proxy
from support.postgres_server import Databases
from support.waiting import until, until_async

STORE = Settings(lease=2, busy_seconds=0.5, poll_seconds=0.05)
ALONE = Settings(look=0.1, sweep=3600)
"""Who ends no runs of others."""
WATCHFUL = Settings(look=0.05, sweep=0.1)
IDLE = 8
"""Seconds without output, of which the agents here use a few."""


@pytest.fixture
def acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Acts:
    found = Acts(tmp_path)
    monkeypatch.setenv("ACTS", str(found.file))
    return found


def write(folder: Path, code: str, yaml: str = "") -> Agent:
    return write_agent(folder / "agents" / "acting", code, f"{YAML}\n{yaml}")


@asynccontextmanager
async def servers(
    folder: Path, agent: Agent, url: str, *limits: Settings
) -> AsyncIterator[tuple[list[Stage], Proxy]]:
    """Servers with folders of their own, the first of which reaches the database by a proxy."""
    proxy = Proxy(url, folder)
    await proxy.open()
    async with AsyncExitStack() as stack:
        stages = []
        for number, each in enumerate(limits):
            own = folder / f"server-{number}"
            own.mkdir()
            way = proxy.url if number == 0 else url
            stage = staged(own, agent, url=way, limits=each, settings=STORE)
            stages.append(await stack.enter_async_context(stage))
        try:
            yield stages, proxy
        finally:
            proxy.pass_questions()  # a store is closed when it has written all
    await proxy.close()


async def ended(stage: Stage, run: Run) -> None:
    """Wait until a run has ended, as this server sees it."""

    async def is_over() -> bool:
        return (await retry_while_unavailable(stage.store.run, "ann", run.id)).status == "done"

    await until_async(is_over)


async def test_agents_of_a_server_that_is_cut_off_do_not_act_beside_others(
    tmp_path: Path, postgres: Databases, acts: Acts
) -> None:
    agent, url = write(tmp_path, ACTING), await postgres.blank()
    async with servers(tmp_path, agent, url, ALONE, WATCHFUL) as ((here, there), proxy):
        begun = await retry_while_unavailable(here.begin)
        await acts.after(here.folder, 0)
        proxy.swallow_questions()
        await ended(there, begun)  # as its lease is over
        again = await retry_while_unavailable(there.begin, submit("again", "m2"))
        await acts.after(there.folder, 0)
        assert max(acts.by(here.folder)) < min(acts.by(there.folder))
        assert is_frozen(here.folder)
        proxy.pass_questions()
        await here.until_nothing_runs()
        assert max(acts.by(here.folder)) < min(acts.by(there.folder)), "it was killed as it was"
        acts.enough()
        assert text_of(await retry_while_unavailable(there.until_it_ends, again)) == "enough"
        assert reason_of(await there.until_it_ends(begun)) == "lost"


async def test_an_outage_freezes_agents_and_ends_no_run(
    tmp_path: Path, postgres: Databases, acts: Acts, caplog: pytest.LogCaptureFixture
) -> None:
    agent, url = write(tmp_path, ACTING, f"timeouts: {{idle: {IDLE}}}"), await postgres.blank()
    async with servers(tmp_path, agent, url, WATCHFUL) as ((here,), proxy):
        begun = await retry_while_unavailable(here.begin)
        await acts.after(here.folder, 0)
        proxy.swallow_questions()
        await until(lambda: is_frozen(here.folder))
        count, frozen_at = len(acts.by(here.folder)), since_boot()
        await until(lambda: since_boot() > frozen_at + IDLE)  # which counts for no timeout
        proxy.pass_questions()
        assert min(await acts.after(here.folder, count)) > frozen_at + IDLE
        assert "1 agents were frozen" in caplog.text
        acts.enough()
        assert text_of(await retry_while_unavailable(here.until_it_ends, begun)) == "enough"


@pytest.mark.parametrize("answered", ["here", "elsewhere"])
async def test_an_agent_that_waits_goes_on_if_nobody_has_answered_elsewhere(
    tmp_path: Path, postgres: Databases, acts: Acts, answered: str
) -> None:
    agent, url = write(tmp_path, ASKING), await postgres.blank()
    async with servers(tmp_path, agent, url, ALONE, ALONE) as ((here, there), proxy):
        begun = await retry_while_unavailable(here.begin)
        await retry_while_unavailable(here.until_it_waits, begun)
        proxy.swallow_questions()
        await until(lambda: is_frozen(here.folder))
        count, frozen_at = len(acts.by(here.folder)), since_boot()
        if answered == "here":
            proxy.pass_questions()
            assert min(await acts.after(here.folder, count)) > frozen_at
            await retry_while_unavailable(here.supervisor.answer, "ann", begun.id, approved())
        else:
            await retry_while_unavailable(there.supervisor.answer, "ann", begun.id, approved())
            await ended(there, begun)
            proxy.pass_questions()
            await here.until_nothing_runs()
            assert len(acts.by(here.folder)) == count, "it was killed as it was"
        assert text_of(await retry_while_unavailable(there.until_it_ends, begun)) == "approved"
