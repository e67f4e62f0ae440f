"""What an agent wrote to stderr, and the formats there are: what a page asks beside the log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobox import registry
from mobox.capture.execution import STDERR_TAIL
from mobox.errors import NotFoundError
from mobox.formatters import GROUP, get_formatter, profiles_of, protocols
from mobox.formatters.ai_sdk.requests import read_request
from mobox.server.app import create_app, open_services
from mobox.settings import OWNER, Settings
from mobox.supervisor.agent_files import StderrFolder
from server.app_client import app_client, begin
from server.live_server import message
from server.serving import client_of

DEMO = Path(__file__).parents[2] / "agents"


async def test_stderr_is_available_after_the_end_of_a_run(tmp_path: Path) -> None:
    async with (
        open_services(Settings(data=tmp_path, agents=DEMO)) as services,
        client_of(create_app(services)) as client,
    ):
        request = read_request(message("c1", "crash"))
        run = (await services.supervisor.begin(OWNER, request)).run
        async for _ in services.storage.follow(run.id):
            pass
        told = (await client.get(f"/api/runs/{run.id}/stderr")).json()
        [leg] = told["legs"]
        assert leg["leg"] == 1
        assert leg["text"].startswith("Traceback")
        assert leg["text"].rstrip().endswith("the demo crashed on purpose")


async def test_agent_without_stderr_output_has_no_attempts(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await begin(services, "c1", "Go")
        told = await client.get(f"/api/runs/{run.id}/stderr")
        assert (told.status_code, told.json()) == (200, {"legs": []})


async def test_control_sequences_are_escaped_and_output_is_limited(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await begin(services, "c1", "Go")
        hostile = "\x1b]0;mine\x07 \x9b31m \u202e <b>é</b>\tend\n"
        StderrFolder(tmp_path / "logs").keep(run, "x" * STDERR_TAIL + hostile)
        response = await client.get(f"/api/runs/{run.id}/stderr")
        [leg] = response.json()["legs"]
        text = leg["text"]
        assert text.endswith(r"x\x1b]0;mine\x07 \x9b31m \u202e <b>é</b>" + "\tend\n")
        assert text.count("x" * 10) * 10 < STDERR_TAIL
        assert response.headers["content-type"] == "application/json"


async def test_only_the_owner_of_a_run_can_read_it(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (services, client):
        run = await begin(services, "c1", "Go")
        StderrFolder(tmp_path / "logs").keep(run, "secret")
        assert await services.supervisor.stderr_of(OWNER, run.id) == {1: "secret"}
        with pytest.raises(NotFoundError):
            await services.supervisor.stderr_of("somebody else", run.id)
        missing = await client.get("/api/runs/run_1/stderr")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


async def test_every_format_is_listed_with_its_profiles(tmp_path: Path) -> None:
    async with app_client(tmp_path, "memory:") as (_, client):
        told = (await client.get("/api/formats")).json()
        assert {row["name"]: tuple(row["profiles"]) for row in told["formats"]} == {
            name: profiles_of(name) for name in protocols()
        }
        for row in told["formats"]:
            for profile in row["profiles"]:
                get_formatter(row["name"], "run_1", profile)  # which knows it


@pytest.fixture
def broken_format(tmp_path: Path) -> Iterator[None]:
    """An installed package whose format cannot be loaded."""
    before = list(sys.path)
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nmorse = no_such_module:Morse")
    sys.path.append(str(tmp_path))
    registry._registered.cache_clear()
    yield
    sys.path[:] = before
    registry._registered.cache_clear()


@pytest.mark.usefixtures("broken_format")
async def test_a_format_that_cannot_be_used_is_not_listed(tmp_path: Path) -> None:
    assert "morse" in protocols()
    async with app_client(tmp_path / "data", "memory:") as (_, client):
        told = (await client.get("/api/formats")).json()
        assert [row["name"] for row in told["formats"]] == [
            name for name in protocols() if name != "morse"
        ]
