"""The route about the server: its version, and the sandbox of its agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobox import __version__
from mobox.sandbox import bubblewrap
from server.app_client import app_client
from server.server_with_keys import bearer, give_key, keyed_app

MISSING = "bubblewrap is not installed: install the package `bubblewrap`"
BRIEF = {"name": "process", "isolates": False, "reason": None, "limits": {}, "notes": []}


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "PROGRAM", "no-such-program")


async def about(tmp_path: Path, **options: Any) -> dict[str, Any]:
    async with app_client(tmp_path, **options) as (_, client):
        answer: dict[str, Any] = (await client.get("/api/server")).json()
    return answer


async def test_a_local_server_tells_all(tmp_path: Path) -> None:
    answer = await about(tmp_path, sandbox="process", max_file=1000)
    sandbox = answer.pop("sandbox")
    assert answer.pop("uploads") == {"maxFile": 1000, "maxFilesPerOwner": 1 << 30}
    assert answer == {"version": __version__, "executes": True, "notice": ""}
    assert (sandbox["name"], sandbox["isolates"], sandbox["reason"]) == ("process", False, None)
    assert sandbox["limits"].keys() == {"memory", "processes", "disk"}
    assert "the server's user" in sandbox["notes"][0]


@pytest.mark.usefixtures("no_bubblewrap")
async def test_the_reason_for_a_process_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox = (await about(tmp_path, sandbox="auto"))["sandbox"]
    assert (sandbox["name"], sandbox["reason"]) == ("process", MISSING)
    (line,) = [each.message for each in caplog.records if "in the sandbox" in each.message]
    assert line.startswith(f"agents run in the sandbox 'process' ({MISSING}); limits: memory (")


@pytest.mark.usefixtures("no_bubblewrap")
async def test_only_operators_see_details_on_a_server_with_keys(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, sandbox="auto") as (services, client):
        _, reads = await give_key(services.storage, "ann", ("read",))
        _, operates = await give_key(services.storage, "bob", ("read", "operate"))
        brief = (await client.get("/api/server", headers=bearer(reads))).json()
        full = (await client.get("/api/server", headers=bearer(operates))).json()
        assert (await client.get("/api/server")).status_code == 401
    assert brief["sandbox"] == BRIEF
    assert full["sandbox"]["reason"] == MISSING
    assert full["sandbox"]["limits"]


async def test_readers_see_details_where_errors_have_them(tmp_path: Path) -> None:
    async with keyed_app(tmp_path, sandbox="process", error_details="full") as (services, client):
        _, reads = await give_key(services.storage, "ann", ("read",))
        answer = (await client.get("/api/server", headers=bearer(reads))).json()
    assert answer["sandbox"]["notes"]


async def test_where_workers_execute_there_is_no_sandbox(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    answer = await about(tmp_path, database_url=url, execute="workers")
    assert answer == {
        "version": __version__,
        "executes": False,
        "uploads": {"maxFile": 32 << 20, "maxFilesPerOwner": 1 << 30},
        "sandbox": None,
        "notice": "Workers execute the agents: each has a sandbox of its own.",
    }
