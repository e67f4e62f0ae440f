"""`mobox prune`, with a server running beside."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from mobox.cli import main
from mobox.cli.prune import age
from mobox.server.auth.keys import read_expiry
from mobox.settings import now_ms
from mobox.storage import Settings as StoreSettings
from mobox.storage import open_storage
from mobox.storage.sqlite import retention
from mobox.supervisor.pruning import prune as prune_chats
from server.live_server import LIMIT, LiveServer, live_server, message, mobox
from supervisor.stage import submit

DAY = 24 * 60 * 60 * 1000
AGENTS = {
    "keeper": """
import os, pathlib, sys
from shared.emitter import emit_done, emit_text
pathlib.Path(os.environ["MOBOX_STATE"], "kept").touch()
print("something to complain of", file=sys.stderr)
emit_text("Kept.")
emit_done()
""",
    "asker": """
from shared.emitter import ask
ask("Which?")
""",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prune") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[LiveServer]:
    for name, code in AGENTS.items():
        folder = data.parent / "agents" / name
        folder.mkdir(parents=True)
        (folder / "agent.yaml").touch()
        (folder / "run_agent.py").write_text(code)
    with live_server(data, "--agents", data.parent / "agents") as server:
        yield server


def say(server: LiveServer, chat_id: str, agent: str) -> str:
    """Say something and read all of the answer; the id of the run."""
    body = {**message(chat_id, "hello"), "agent": agent}
    answer = httpx.post(f"{server.url}/api/chat", json=body, timeout=LIMIT, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-mobox-run"]


def make_old(data: Path, chat_id: str, days: int) -> None:
    """As if all of it had happened so many days before."""
    with sqlite3.connect(data / "mobox.db", timeout=LIMIT) as database:
        (n,) = database.execute("SELECT n FROM chat WHERE id = ?", (chat_id,)).fetchone()
        change = "UPDATE chat SET updated_at = updated_at - ? WHERE n = ?"
        database.execute(change, (days * DAY, n))
        database.execute("UPDATE run SET ended_at = ended_at - ? WHERE chat = ?", (days * DAY, n))
    database.close()


def prune(data: Path, *options: str) -> str:
    code, out, err = mobox("prune", "--data", data, *options)
    assert (code, err) == (0, "")
    return out.strip()


def status_of(server: LiveServer, run_id: str) -> int:
    url = f"{server.url}/api/runs/{run_id}/events?live=off"
    return httpx.get(url, timeout=LIMIT, trust_env=False).status_code


def test_old_chats_are_deleted_with_all_their_data(data: Path, server: LiveServer) -> None:
    old, new = say(server, "old", "keeper"), say(server, "new", "keeper")
    waits = say(server, "waits", "asker")
    for chat_id in ("old", "waits"):
        make_old(data, chat_id, 31)
    assert len(list((data / "state").glob("*/kept"))) == 2
    assert {file.name.split(".")[0] for file in (data / "logs").iterdir()} == {old, new}

    assert prune(data, "--older-than", "30d", "--dry-run") == "1 chat with 1 run would be deleted"
    assert prune(data, "--older-than", "5w", "--dry-run") == "0 chats with 0 runs would be deleted"
    assert prune(data, "--older-than", "30d") == "1 chat with 1 run deleted"
    assert prune(data, "--older-than", "30d") == "0 chats with 0 runs deleted"

    assert [status_of(server, run_id) for run_id in (old, new, waits)] == [410, 200, 200]
    assert len(list((data / "state").glob("*/kept"))) == 1
    assert {file.name.split(".")[0] for file in (data / "logs").iterdir()} == {new}


def test_deleted_chats_are_forgotten_after_four_weeks(data: Path, server: LiveServer) -> None:
    deleted = [say(server, f"deleted-{n}", "keeper") for n in range(2)]
    for n in range(2):
        httpx.delete(f"{server.url}/api/chats/deleted-{n}", trust_env=False).raise_for_status()
    with sqlite3.connect(data / "mobox.db", timeout=LIMIT) as database:
        change = "UPDATE deleted_run SET deleted_at = deleted_at - ? WHERE id = ?"
        for run_id, days in zip(deleted, (27, 29), strict=True):
            database.execute(change, (days * DAY, run_id))
    database.close()
    assert [status_of(server, run_id) for run_id in deleted] == [410, 410]
    prune(data, "--older-than", "8w")
    assert [status_of(server, run_id) for run_id in deleted] == [410, 404]


async def test_however_much_was_deleted_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FORGOTTEN_AT_ONCE", 2)
    long_ago = StoreSettings(clock=lambda: 1_000_000)
    store = await open_storage("memory:", long_ago)
    for n in range(5):
        await store.begin_turn("ann", submit(chat_id=f"c{n}"), "it", "emitted")
        await store.delete("ann", f"c{n}")
    await prune_chats(store, tmp_path, timedelta(weeks=8))
    assert await store.forget_deleted(now_ms()) == 0
    await store.close()


def test_raw_lines_go_alone(data: Path, server: LiveServer) -> None:
    run_id = say(server, "raw", "keeper")
    make_old(data, "raw", 2)
    would = prune(data, "--older-than", "24h", "--raw-only", "--dry-run")
    assert would == "2 raw lines would be deleted"
    assert prune(data, "--older-than", "24h", "--raw-only") == "2 raw lines deleted"
    assert prune(data, "--older-than", "24h", "--raw-only") == "0 raw lines deleted"
    assert status_of(server, run_id) == 200
    assert mobox("logs", run_id, "--data", data)[1] == ""


def test_keys_that_have_ended_go_too(data: Path, server: LiveServer) -> None:
    def listed() -> list[str]:
        return [row.split()[2] for row in mobox("keys", "list", "--data", data)[1].splitlines()[1:]]

    for name, expires in (("old", "20d"), ("new", "40d")):
        told = ("--name", name, "--expires", expires, "--data", data)
        assert mobox("keys", "add", "--owner", "ann", *told)[0] == 0
    assert mobox("keys", "add", "--owner", "ann", "--name", "lasting", "--data", data)[0] == 0
    with sqlite3.connect(data / "mobox.db", timeout=LIMIT) as database:
        database.execute("UPDATE api_key SET expires_at = expires_at - ?", (51 * DAY,))
    database.close()
    would = prune(data, "--older-than", "30d", "--dry-run")
    assert would == "0 chats with 0 runs, 1 expired or revoked key would be deleted"
    assert listed() == ["old", "new", "lasting"]
    assert (
        prune(data, "--older-than", "30d")
        == "0 chats with 0 runs, 1 expired or revoked key deleted"
    )
    assert listed() == ["new", "lasting"]


@pytest.mark.parametrize("told", ["30", "d", "1y", "-1d", "1.5d", "0h", "00d", ""])
def test_an_age_that_is_none_is_refused(told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["prune", f"--older-than={told}"])
    assert left.value.code == 2
    assert f"90m, 12h, 30d, 8w; got {told!r}" in capsys.readouterr().err


@pytest.mark.parametrize("told", ["90m", "12h", "30d", "8w"])
def test_age_is_written_like_an_expiry(told: str) -> None:
    assert age(told).total_seconds() * 1000 == read_expiry(told, 0)
