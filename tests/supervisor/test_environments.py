"""Runs of agents that have packages of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from environments.test_installing import commands_with, silent_index
from mobox.capture.catalog import Agent
from mobox.environments import environment_of
from mobox.events import StreamEvent
from supervisor.stage import (
    QUIET,
    approved,
    error_of,
    reason_of,
    staged,
    submit,
    text_of,
    write_agent,
)
from supervisor.test_preparation import preparations
from support.waiting import until
from support.wheels import index

__all__ = ["index", "silent_index"]

INSTALLS = replace(QUIET, installs=True)
CODE = "turn = read_turn(); import tiny; emit_text(tiny.VERSION); emit_done()"

pytestmark = pytest.mark.usefixtures("clean", "index")


def make(tmp_path: Path, requirements: str, code: str = CODE, yaml: str = "") -> Agent:
    folder = tmp_path / "agents" / "echo"
    agent = write_agent(folder, code, "name: Echo\n" + yaml)
    (folder / "requirements.txt").write_text(requirements)
    return agent


def failure(events: list[StreamEvent]) -> str:
    assert reason_of(events) == "error"
    assert error_of(events).code == "not_installed"
    return error_of(events).message


async def test_the_first_run_installs_and_reports_it(tmp_path: Path) -> None:
    async with staged(tmp_path, make(tmp_path, "big\n"), limits=INSTALLS) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert text_of(events) == "2.0"
        *installing, last = preparations(events)
        assert installing == [
            "Installing the packages of Echo…",
            "Installing 2 packages for Echo…",
            "Compiling 2 packages for Echo…",
        ]
        assert last.startswith("Installed 2 packages in ")
        events = await stage.until_it_ends(await stage.begin(submit(message_id="m2")))
        assert (text_of(events), preparations(events)) == ("2.0", [])


async def test_runs_at_the_same_time_wait_for_one_install(tmp_path: Path) -> None:
    async with staged(tmp_path, make(tmp_path, "big\n"), limits=INSTALLS) as stage:
        runs = [await stage.begin(submit(message_id=chat, chat_id=chat)) for chat in "abc"]
        logs = [await stage.until_it_ends(run) for run in runs]
    assert [text_of(events) for events in logs] == ["2.0"] * 3
    done = [message for events in logs for message in preparations(events) if "ed 2" in message]
    assert len(done) == 1


async def test_a_changed_list_of_packages_is_installed_at_the_next_run(tmp_path: Path) -> None:
    agent = make(tmp_path, "tiny==1.0\n")
    async with staged(tmp_path, agent, limits=INSTALLS) as stage:
        events = await stage.until_it_ends(await stage.begin())
        assert text_of(events) == "1.0"
        (agent.folder / "requirements.txt").write_text("tiny==2.0\n")
        events = await stage.until_it_ends(await stage.begin(submit(message_id="m2")))
        assert text_of(events) == "2.0"


async def test_a_run_that_may_not_install_names_the_command(tmp_path: Path) -> None:
    agent = make(tmp_path, "tiny\n")
    async with staged(tmp_path, agent) as stage:
        events = await stage.until_it_ends(await stage.begin())
    assert failure(events) == (
        "The packages of Echo are not installed: run mobox agents install echo"
        f" --agents {tmp_path}/agents --environments {tmp_path}/environments"
    )
    assert not (tmp_path / "environments").exists()


async def test_a_failed_install_is_the_error_of_the_run(tmp_path: Path) -> None:
    agent = make(tmp_path, "unheard\n", yaml="env: [NOT_THERE]\n")
    async with staged(tmp_path, agent, limits=INSTALLS) as stage:
        first = failure(events := await stage.until_it_ends(await stage.begin()))
        assert first.startswith("The packages of Echo could not be installed: No solution found")
        assert "unheard" in first
        assert "NOT_THERE" not in first
        assert len(preparations(events)) == 1
        # Within a minute the same error comes without another attempt, until the file has changed.
        events = await stage.until_it_ends(await stage.begin(submit(message_id="m2")))
        assert (failure(events), preparations(events)) == (first, [])
        (agent.folder / "requirements.txt").write_text("tiny\n")
        events = await stage.until_it_ends(await stage.begin(submit(message_id="m3")))
        assert text_of(events) == "2.0"


async def test_a_stop_ends_an_install(tmp_path: Path, silent_index: str) -> None:
    agent = make(tmp_path, "tiny\n")
    async with staged(tmp_path, agent, limits=INSTALLS) as stage:
        begun = await stage.begin()
        await until(lambda: commands_with(silent_index))
        await stage.supervisor.stop("ann", begun.id)
        events = await stage.until_it_ends(begun)
        assert reason_of(events) == "cancelled"
        assert commands_with(silent_index) == {}
    environment = environment_of(agent, tmp_path / "environments")
    assert environment is not None
    assert environment.state() == "missing"


async def test_a_shutdown_ends_an_install(tmp_path: Path, silent_index: str) -> None:
    async with staged(tmp_path, make(tmp_path, "tiny\n"), limits=INSTALLS) as stage:
        begun = await stage.begin()
        await until(lambda: commands_with(silent_index))
        await stage.supervisor.close()
        assert reason_of(await stage.until_it_ends(begun)) == "interrupted"
    assert commands_with(silent_index) == {}


async def test_an_answer_continues_with_the_packages_of_now(tmp_path: Path) -> None:
    code = """
    import tiny
    emit_text(tiny.VERSION + " ")
    emit_text(ask("Sure?", id="r1", resume=True)["decision"])
    emit_done()
    """
    agent = make(tmp_path, "tiny==1.0\n", code)
    async with staged(tmp_path, agent, limits=replace(INSTALLS, hold=0.01)) as stage:
        begun = await stage.begin()
        await stage.until_it_waits(begun)
        await stage.until_nothing_runs()
        (agent.folder / "requirements.txt").write_text("tiny==2.0\n")
        events = await stage.answered(begun, *approved())
    assert text_of(events) == "1.0 2.0 approved"
    assert len(preparations(events)) == 8


async def test_spares_run_in_the_environment(tmp_path: Path) -> None:
    code = "import os, tiny; turn = read_turn(); emit_text(f'{tiny.VERSION} {os.getpid()}')"
    agent = make(tmp_path, "tiny==1.0\n", code + "; emit_done()", "warm: 1\n")
    async with staged(tmp_path, agent, limits=INSTALLS, warm=True) as stage:
        await stage.until_it_ends(await stage.begin())
        await until(lambda: stage.supervisor.spares == 1)
        events = await stage.until_it_ends(await stage.begin(submit(message_id="m2")))
        assert text_of(events).startswith("1.0")
        await until(lambda: stage.supervisor.spares == 1)
        (agent.folder / "requirements.txt").write_text("tiny==2.0\n")
        events = await stage.until_it_ends(await stage.begin(submit(message_id="m3")))
        assert text_of(events).startswith("2.0")
