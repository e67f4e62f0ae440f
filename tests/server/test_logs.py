"""`mobox logs`: what an agent wrote, whatever became of its run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import open_services
from mobox.server.settings import OWNER, Settings
from server.live_server import LIMIT, mobox

DEMO = Path(__file__).parents[2] / "agents"


def crashed_run(data: Path) -> str:
    body = {
        "id": "c1",
        "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "crash"}]},
    }

    async def crash() -> str:
        async with asyncio.timeout(LIMIT), open_services(Settings(data=data, agents=DEMO)) as it:
            run = (await it.supervisor.begin(OWNER, read_request(body))).run
            async for _ in it.storage.follow(run.id):
                pass
            return run.id

    return asyncio.run(crash())


def test_the_lines_of_a_run_and_the_stderr_of_its_agent_are_shown(tmp_path: Path) -> None:
    run_id = crashed_run(tmp_path / "data")
    code, lines, errors = mobox("logs", run_id, "--data", tmp_path / "data")
    assert code == 0
    assert lines.splitlines()[0].startswith('{"type": "start"')
    assert '"Watch"' in lines
    assert errors.startswith("--- stderr of leg 1 ---\nTraceback")
    assert errors.endswith("RuntimeError: the demo crashed, as it was asked to\n")


def test_a_run_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    crashed_run(tmp_path / "data")
    said = mobox("logs", "run_1", "--data", tmp_path / "data")
    assert said == (2, "", "mobox: no run 'run_1'\n")
