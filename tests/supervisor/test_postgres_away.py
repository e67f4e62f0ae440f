"""Runs outlast a database that goes away: their agents are held up, and nothing else happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from mobox.errors import StorageUnavailable
from mobox.events import Done, Start
from mobox.settings import Settings
from mobox.storage.retry import retry_while_unavailable
from supervisor.stage import run, staged, submit, text_of, write_agent
from support.postgres_gate import gated
from support.postgres_server import Databases, running_postgres
from support.waiting import until

COUNTING = """
n = 0
while not (state / "enough").exists():
    emit_text(f"{n} ")
    n += 1
    time.sleep(0.002)
emit_text(f"{n} of {n}")
emit_done()
"""
WATCHFUL = Settings(look=0.05, sweep=0.05)
"""Who looks all the time whether there is something to end."""
STORE = Settings(busy_seconds=1, poll_seconds=0.05)


def test_runs_go_on_when_the_database_is_back_and_no_other_process_ends_them(
    tmp_path: Path,
) -> None:
    agent = write_agent(tmp_path / "agents" / "counting", COUNTING)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()

    async def scenario(url: str) -> None:
        async with (
            staged(here, agent, url=url, limits=WATCHFUL, settings=STORE) as stage,
            staged(there, agent, url=url, limits=WATCHFUL, settings=STORE) as other,
        ):
            runs = [
                await retry_while_unavailable(stage.begin, submit(chat_id=f"c{n}"))
                for n in range(3)
            ]
            readers = [
                asyncio.create_task(retry_while_unavailable(other.until_it_ends, run))
                for run in runs
            ]
            for run in runs:
                await retry_while_unavailable(stage.store.beyond, run.id, 10)
            await asyncio.to_thread(server.stop)
            for store in (stage.store, other.store):
                with pytest.raises(StorageUnavailable):
                    await store.chats("ann")
            await asyncio.to_thread(server.start)
            for run in runs:
                tail = (await retry_while_unavailable(stage.store.run, "ann", run.id)).tail_seq
                await retry_while_unavailable(stage.store.beyond, run.id, tail + 10)
            states = list((here / "state").iterdir())
            assert len(states) == len(runs)
            for state in states:
                (state / "enough").touch()
            for events in await asyncio.gather(*readers):
                assert isinstance(events[-1], Done)
                assert events[-1].reason == "stop"
                said = text_of(events).split()
                count = int(said[-1])
                assert said == [*map(str, range(count)), str(count), "of", str(count)]
            await until(lambda: stage.supervisor.running == 0)

    with running_postgres() as server:
        url = asyncio.run(Databases(server.url).blank())
        run(scenario(url))


SLOW = """
CREATE TABLE slow (seconds FLOAT);
INSERT INTO slow VALUES (3);
CREATE FUNCTION wait() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_sleep(seconds) FROM public.slow;
    RETURN NULL;
END $$;
CREATE TRIGGER wait AFTER UPDATE ON mobox.run FOR EACH ROW
    WHEN (OLD.lease_owner IS NOT NULL AND NEW.lease_owner IS NULL) EXECUTE FUNCTION wait();
"""
SLEEPS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


async def test_a_run_that_is_begun_is_left_to_others_when_the_database_is_back(
    tmp_path: Path, postgres: Databases
) -> None:
    agent = write_agent(tmp_path / "agents" / "counting", COUNTING)
    url = await postgres.blank()
    only_begins = Settings(execute="workers", look=3600, sweep=3600)
    async with staged(tmp_path, agent, url=url, limits=only_begins, settings=STORE) as stage:
        database = await asyncpg.connect(url)
        await database.execute(SLOW)
        beginning = asyncio.create_task(retry_while_unavailable(stage.begin, submit()))
        while not await database.fetchval(SLEEPS):
            await asyncio.wait([beginning], timeout=0.01)
            if beginning.done():
                break
        await database.execute("DELETE FROM slow")  # what sleeps already is given up
        begun = await beginning
        [mine] = await retry_while_unavailable(stage.store.claim, [agent.id], 1)
        assert mine.id == begun.id
        await database.close()
        await retry_while_unavailable(stage.store.queue, mine.id, mine.epoch)


async def test_a_run_can_be_stopped_while_its_history_cannot_be_read(
    tmp_path: Path, postgres: Databases
) -> None:
    agent = write_agent(tmp_path / "agents" / "counting", COUNTING)
    url, gate = await gated(postgres)
    only_here = Settings(look=3600, sweep=3600)
    async with staged(tmp_path, agent, url=url, limits=only_here, settings=STORE) as stage:
        told = ("ann", submit("before", "m0"), agent.id, agent.framework)
        before = (await retry_while_unavailable(stage.store.begin_turn, *told)).run
        said = [Start(framework=agent.framework), Done(reason="stop")]
        await stage.store.append(before.id, before.epoch, said, 1000)
        await gate.shut()
        begun = await retry_while_unavailable(stage.begin, submit())
        await gate.reached(1)
        await retry_while_unavailable(stage.supervisor.stop, "ann", begun.id)
        while (
            ended := await retry_while_unavailable(stage.store.run, "ann", begun.id)
        ).status != "done":
            pass
        assert ended.reason == "cancelled"
        await gate.close()
        events = await retry_while_unavailable(stage.until_it_ends, begun)
        assert [type(event) for event in events] == [Start, Done]
        assert not list((tmp_path / "state").glob("*/*")), "nothing was started"


async def test_who_is_patient_asks_again_until_there_is_an_answer() -> None:
    asked = []

    async def ask(question: str) -> str:
        asked.append(question)
        if len(asked) < 3:
            raise StorageUnavailable
        return question.upper()

    assert await retry_while_unavailable(ask, "why") == "WHY"
    assert asked == ["why"] * 3
