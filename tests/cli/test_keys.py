"""`mobox keys`, while a server runs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from mobox.cli import main
from mobox.server.auth.keys import digest_of
from mobox.storage import SqliteStorage
from mobox.storage.keys import ApiKey
from server.live_server import AGENTS, live_server, mobox
from server.server_with_keys import bearer


class Command:
    """What a person does in one data folder."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(["keys", *words, "--data", str(self.data)])
        told = self._capsys.readouterr()
        return code, told.out, told.err

    def add(self, *words: str) -> str:
        """A key's secret."""
        code, secret, _ = self("add", *words)
        assert code == 0
        return secret.removesuffix("\n")

    def kept(self) -> list[ApiKey]:
        async def read() -> list[ApiKey]:
            storage = await SqliteStorage.open(self.data / "mobox.db")
            try:
                return await storage.keys()
            finally:
                await storage.close()

        return asyncio.run(read())


@pytest.fixture
def keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return Command(tmp_path / "data", capsys)


def test_a_secret_is_all_that_stdout_has(keys: Command) -> None:
    code, out, err = keys("add", "--owner", "ann")
    assert code == 0
    assert re.fullmatch(r"mbx_[\w-]{43}\n", out)
    [key] = keys.kept()
    assert (key.owner, key.scopes, key.expires_at) == ("ann", ("read", "write"), None)
    assert key.digest == digest_of(out.strip())
    assert err.splitlines()[0] == (
        f"{key.id} gives access to ann's chats (read, write). Save it now: it won't be shown again."
    )
    assert "--auth keys" in err


def test_key_is_created_as_requested(keys: Command) -> None:
    keys.add("--owner", "ci", "--name", "nightly", "--scopes", "operate, read", "--expires", "30d")
    [key] = keys.kept()
    assert (key.name, key.scopes) == ("nightly", ("operate", "read"))
    assert key.expires_at is not None
    days = (key.expires_at - key.created_at) / (24 * 3600 * 1000)
    assert round(days) == 30


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--owner", " "), "--owner= : expected a name"),
        (("--owner", "a" * 201), "expected a name of up to 200 characters"),
        (("--owner", "ann", "--scopes", "admin"), "expected some of read, write, operate"),
        (("--owner", "ann", "--scopes", ","), "expected some of read, write, operate"),
        (("--owner", "ann", "--expires", "soon"), "--expires=soon: expected a number of minutes"),
    ],
)
def test_invalid_key_request_is_rejected(
    words: tuple[str, ...], problem: str, keys: Command
) -> None:
    code, out, err = keys("add", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert keys.kept() == []


def test_keys_are_listed_without_their_secrets(keys: Command) -> None:
    secrets = [
        keys.add("--owner", "ann", "--name", "her \x1b[31mlaptop"),
        keys.add("--owner", "bob", "--expires", "90m"),
        keys.add("--owner", "eve"),
    ]
    anns, bobs, eves = keys.kept()
    assert keys("revoke", eves.id)[0] == 0
    code, out, _ = keys("list")
    rows = out.splitlines()
    assert code == 0
    assert [row.split()[:2] for row in rows[1:]] == [
        [anns.id, "ann"],
        [bobs.id, "bob"],
        [eves.id, "eve"],
    ]
    assert "until " in rows[2]
    assert "revoked " in rows[3]
    assert "\x1b" not in out, "a terminal obeys nothing in it"
    assert not [secret for secret in secrets if secret in out or digest_of(secret) in out]


def test_a_key_that_is_not_there_is_named(keys: Command) -> None:
    keys.add("--owner", "ann")
    assert keys("revoke", "key_nobody") == (2, "", "mobox: no key 'key_nobody'\n")


@pytest.mark.parametrize("words", [("list",), ("revoke", "key_1")])
def test_listing_keys_of_a_wrong_path_creates_nothing(
    words: tuple[str, ...], keys: Command
) -> None:
    code, out, err = keys(*words)
    assert (code, out) == (2, "")
    assert "there is no database in this folder" in err
    assert not keys.data.exists()


def test_no_key_is_written_where_it_cannot_be_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "add", "--owner", "ann", "--database-url", "memory:"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "other processes cannot read keys there" in told.err


@pytest.mark.parametrize("variable", [("HOST", "0.0.0.0"), ("PORT", "tcp://10.0.0.1:80")])
@pytest.mark.parametrize("command", ["keys", "prune", "logs"])
def test_server_only_settings_do_not_matter(
    variable: tuple[str, str],
    command: str,
    keys: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys.add("--owner", "ann")
    monkeypatch.setenv(*variable)
    monkeypatch.setenv("MOBOX_DATA", str(keys.data))
    words = {"keys": ["list"], "prune": ["--older-than", "30d"], "logs": ["nothing"]}
    main([command, *words[command]])
    told = capsys.readouterr()
    shown = {"keys": "ann", "prune": "0 chats", "logs": "no run 'nothing'"}
    assert shown[command] in told.out + told.err


def test_a_key_holds_at_once_on_a_server_that_runs(keys: Command, tmp_path: Path) -> None:
    with (
        live_server(tmp_path / "data", "--auth", "keys") as server,
        httpx.Client(base_url=server.url, trust_env=False) as client,
    ):
        assert client.get("/api/chats").status_code == 401
        warning = "there are no API keys yet: create one with mobox keys add --owner NAME"
        assert warning in server.warnings
        secret = keys.add("--owner", "ann")
        assert client.get("/api/chats", headers=bearer(secret)).status_code == 200
        keys("revoke", keys.kept()[0].id)
        assert client.get("/api/chats", headers=bearer(secret)).status_code == 401


def test_a_first_key_neither_opens_nor_closes_a_server_without_keys(
    keys: Command, tmp_path: Path
) -> None:
    with live_server(tmp_path / "data") as server:
        keys.add("--owner", "ann")
        assert httpx.get(f"{server.url}/api/chats", trust_env=False).status_code == 200
    with live_server(tmp_path / "data") as server:
        assert httpx.get(f"{server.url}/api/chats", trust_env=False).status_code == 200
        assert "API keys exist, but authentication is off" in server.warnings


def test_a_server_with_keys_listens_where_others_reach_it(tmp_path: Path) -> None:
    with live_server(tmp_path / "data", "--auth", "keys", "--host", "0.0.0.0") as server:
        port = server.url.rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.2:{port}/healthz", trust_env=False).status_code == 200
        warning = "listening on 0.0.0.0 without TLS: make sure that only a TLS proxy can reach it"
        assert warning in server.warnings


def test_agent_log_names_the_owner_of_its_run(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code, secret, _ = mobox("keys", "add", "--owner", "ann", "--data", data)
    assert code == 0
    said = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    with live_server(data, "--auth", "keys", "--agents", AGENTS) as server:
        answer = httpx.post(
            f"{server.url}/api/chat",
            json={"id": "c", "messages": [said]},
            headers=bearer(secret.strip()),
            trust_env=False,
        )
    run = answer.headers["x-mobox-run"]
    assert mobox("logs", run, "--data", data)[:2] == (2, "")
    code, out, _ = mobox("logs", run, "--owner", "ann", "--data", data)
    assert code == 0
    assert "Hello again." in out
