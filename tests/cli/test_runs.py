"""`mobox runs`: what became of runs, and another try of those that failed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cli.test_logs import DEMO, crashed_run
from mobox.events import Done, TextDelta
from mobox.server.app import open_services
from mobox.settings import OWNER, Settings
from server.live_server import LIMIT, mobox


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def rows(data: Path, *more: str) -> list[list[str]]:
    code, output, _ = mobox("runs", "list", "--data", data, *more)
    assert code == 0
    head, *listed = output.splitlines()
    assert head.split() == ["id", "started", "state", "agent", "chat"]
    return [line.split(maxsplit=5) for line in listed]


def test_runs_are_listed_with_what_became_of_them(data: Path) -> None:
    run_id = crashed_run(data)
    ((id_, _, _, state, agent, chat),) = rows(data)
    assert (id_, state, agent, chat) == (run_id, "error", "demo", "crash")
    assert len(rows(data, "--failed")) == 1
    assert rows(data, "--owner", "somebody") == []


def test_failed_run_is_tried_again_by_the_next_server(data: Path) -> None:
    run_id = crashed_run(data)
    code, output, _ = mobox("runs", "retry", run_id, "--data", data)
    again = output.split()[0]
    assert (code, again == run_id) == (0, False)

    async def executed() -> list[object]:
        settings = Settings(data=data, agents=DEMO, sandbox="process")
        async with asyncio.timeout(LIMIT), open_services(settings) as services:
            run = await services.storage.run(OWNER, again)
            assert run.kind == "retry"
            followed = services.storage.follow(run.id)
            return [entry.event async for entries in followed for entry in entries]

    events = asyncio.run(executed())
    assert any(isinstance(event, TextDelta) for event in events)
    assert isinstance(events[-1], Done)
    code, _, errors = mobox("runs", "retry", run_id, "--data", data)
    assert code == 1
    assert (
        errors == f"mobox: {run_id}: its chat has gone on: only the last answer can be made again\n"
    )


def test_run_that_is_not_there_or_not_over_is_reported(data: Path) -> None:
    run_id = crashed_run(data)
    code, output, errors = mobox("runs", "retry", "run_x", run_id, "--data", data)
    assert code == 1
    assert errors == "mobox: run_x: no run 'run_x'\n"
    queued = output.split()[0]
    code, _, errors = mobox("runs", "retry", queued, "--data", data)
    assert (code, errors) == (1, f"mobox: {queued}: this run is running\n")


def test_folder_without_a_database_is_an_error(tmp_path: Path) -> None:
    code, _, errors = mobox("runs", "list", "--data", tmp_path)
    assert code == 2
    assert "there is no database in this folder" in errors
