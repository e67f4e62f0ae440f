"""`mobox doctor`: what it finds on this machine, in databases, of providers and of agents."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from mobox.cli.doctor import agents, databases, machine, models, probes
from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding
from mobox.cli.doctor.probes import PROBES, Probe, findings
from mobox.cli.doctor.sandboxes import check_sandboxes
from mobox.sandbox import Probe as Trial
from mobox.sandbox import bubblewrap
from mobox.sandbox.process import ProcessSandbox
from mobox.settings import Settings
from mobox.storage import open_storage
from mobox.storage.postgres.database import migrations as postgres_migrations
from mobox.storage.sqlite.database import migrations
from mobox.supervisor import sandboxes
from models.scripted_upstream import Connection, scripted_upstream
from server.live_server import live_server, mobox
from support.postgres_server import Databases
from support.terminal import in_terminal
from support.valkey_server import Valkey

KEY = "sk-very-secret-0123456789"
Check = Callable[[Context], AsyncIterator[Finding]]


async def found(check: Check, settings: Settings, **more: Any) -> list[Finding]:
    return [finding async for finding in check(Context(settings, **{"environment": {}} | more))]


async def one(check: Check, settings: Settings, **more: Any) -> Finding:
    (finding,) = await found(check, settings, **more)
    return finding


def lines_of(output: str) -> dict[str, list[str]]:
    """The lines by their subject, each with its level."""
    lines: dict[str, list[str]] = {}
    for line in output.splitlines():
        level, _, rest = line.partition(" ")
        subject, _, text = rest.strip().partition(" ")
        lines.setdefault(subject, []).append(f"{level} {text.strip()}")
    return lines


# The command


def test_fresh_folder_is_well_and_stays_as_it_is(tmp_path: Path) -> None:
    code, out, err = mobox("doctor", "--port", "0", cwd=tmp_path, ANTHROPIC_API_KEY=KEY)
    assert (code, err) == (0, "")
    lines = lines_of(out)
    assert lines["database"] == ["ok .mobox/mobox.db: will be created"]
    assert lines["data"][0].startswith("ok .mobox, will be created: can be written, ")
    assert "ok anthropic: ANTHROPIC_API_KEY from the environment" in lines["model"]
    assert "ok demo: emitted" in lines["agent"]
    assert lines["sandbox"][0].startswith("ok process: works, chosen by the settings; limits: ")
    assert out.endswith("\nAll is well.\n")
    assert KEY not in out
    assert list(tmp_path.iterdir()) == []


def test_json_has_the_same_findings(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    code, out, err = mobox("doctor", "--port", "0", "--json", cwd=tmp_path)
    assert (code, err) == (0, "")
    made = [json.loads(line) for line in out.splitlines()]
    assert {each["level"] for each in made} == {"ok", "warn"}
    (agent,) = [each for each in made if each["subject"] == "agent"]
    assert agent["text"] == "none in agents"
    assert "mobox agents new NAME --framework X" in agent["advice"]


def test_wrong_setting_is_a_finding(tmp_path: Path) -> None:
    code, out, err = mobox("doctor", cwd=tmp_path, PORT="eighty")
    assert (code, err) == (1, "")
    assert out.startswith("fail  settings")
    assert "PORT" in out
    assert out.endswith("\n1 failure\n")


def test_findings_are_wrapped_and_coloured_in_a_terminal(tmp_path: Path) -> None:
    with in_terminal("doctor", "--port", "0", width=60, cwd=tmp_path) as terminal:
        terminal.wait_for("All is well.")
        assert terminal.end() == 0
    assert "\x1b[32mok" in terminal.raw
    gemini = terminal.text.partition("gemini: ")[2]
    assert "\n                GEMINI_API_KEY" in gemini  # below the text, not the level


async def test_check_that_fails_unexpectedly_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def broken(_: Context) -> AsyncIterator[Finding]:
        yield Finding("ok", "odd", "so far")
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(probes, "PROBES", (Probe("odd", broken), PROBES[0]))
    first, second, third = [
        each async for each in findings(Context(Settings(data=tmp_path), environment={}))
    ]
    assert (first.text, second.level, third.subject) == ("so far", "fail", "python")
    assert second.text == "the check failed with ZeroDivisionError: oops"


# The machine


async def test_folder_that_cannot_be_written_fails(tmp_path: Path) -> None:
    # Root may write wherever modes forbid it, but not in /proc, and to no file as to a folder.
    finding = await one(machine.check_data, Settings(data=Path("/proc/mobox/data")))
    assert finding.level == "fail"
    assert "cannot write to /proc" in finding.text
    (tmp_path / "file").touch()
    assert (await one(machine.check_data, Settings(data=tmp_path / "file"))).level == "fail"


async def test_packages_that_the_settings_need_are_found() -> None:
    settings = Settings(database_url="postgresql://x/y", redis_url="redis://x")
    (finding,) = await found(machine.check_packages, settings)
    assert (finding.level, finding.subject) == ("ok", "mobox")
    assert "server" in finding.text


async def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"postgres": ("no_such_module",), "server": ("also_missing", "json")}
    monkeypatch.setattr(machine, "EXTRAS", {**machine.EXTRAS, **gone})
    settings = Settings(database_url="postgresql://x/y")
    _, server, postgres = await found(machine.check_packages, settings)
    assert server.text.startswith("also_missing missing: ")
    assert server.advice == "pip install 'mobox-stream[server]'"
    assert postgres.advice == "pip install 'mobox-stream[postgres]'"


async def test_uv_is_run() -> None:
    finding = await one(machine.check_uv, Settings())
    assert finding.level == "ok"
    assert finding.text[0].isdecimal()


async def test_port_of_another_program_fails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        finding = await one(machine.check_port, Settings(port=port))
    assert finding.level == "fail"
    assert finding.text == f"127.0.0.1:{port} is used by another program"
    assert (await one(machine.check_port, Settings(port=port))).text.endswith("is free")
    wrong = await one(machine.check_port, Settings(host="192.0.2.1", auth="keys"))
    assert wrong.level == "fail"


def test_running_server_is_recognized(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with live_server(data) as server:
        port = urlsplit(server.url).port
        code, out, _ = mobox("doctor", "--data", data, "--port", str(port), cwd=tmp_path)
        lines = lines_of(out)
    assert code == 0
    assert lines["port"] == [f"ok 127.0.0.1:{port}: a Mobox server answers there"]
    newest = migrations()[-1].version
    shown = f"data/mobox.db: SQLite {sqlite3.sqlite_version}, tables {newest}"
    assert lines["database"] == [f"ok {shown}; in use by process {server.process.pid}"]


# Databases


def sqlite_settings(folder: Path) -> Settings:
    return Settings(data=folder)


async def test_damaged_file_fails(tmp_path: Path) -> None:
    (tmp_path / "mobox.db").write_bytes(b"this is no database" * 100)
    finding = await one(databases.check_database, sqlite_settings(tmp_path))
    assert (finding.level, finding.advice) == ("fail", "restore it, or move it away")
    assert "file is not a database" in finding.text


async def test_locked_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "SECONDS", 0.1)
    with closing(sqlite3.connect(tmp_path / "mobox.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE x (y)")
        other.execute("BEGIN EXCLUSIVE")
        finding = await one(databases.check_database, sqlite_settings(tmp_path))
    assert finding.level == "fail"
    assert "database is locked" in finding.text
    finding = await one(databases.check_database, sqlite_settings(tmp_path))
    assert finding.text.endswith("tables will be created")


async def test_file_of_a_later_version_fails(tmp_path: Path) -> None:
    storage = await open_storage(f"sqlite:///{tmp_path}/mobox.db")
    await storage.close()
    with closing(sqlite3.connect(tmp_path / "mobox.db")) as database, database:
        database.execute("INSERT INTO migration VALUES (9999, 'later', 0)")
    finding = await one(databases.check_database, sqlite_settings(tmp_path))
    assert (finding.level, finding.advice) == ("fail", "upgrade Mobox")
    with closing(sqlite3.connect(tmp_path / "mobox.db")) as database, database:
        newest = migrations()[-1].version
        database.execute("DELETE FROM migration WHERE version >= ?", (newest,))
    finding = await one(databases.check_database, sqlite_settings(tmp_path))
    assert finding.text.endswith(f", will be migrated to {newest}")


async def test_other_urls_are_explained() -> None:
    memory = await one(databases.check_database, Settings(database_url="memory:"))
    assert memory.level == "warn"
    wrong = await one(databases.check_database, Settings(database_url="mysql://me:pw@x/y"))
    assert wrong.level == "fail"
    assert "pw" not in wrong.text


async def test_postgres_is_inspected(postgres: Databases) -> None:
    url = await postgres.blank()
    first = await one(databases.check_database, Settings(database_url=url))
    assert first.level == "ok"
    assert "PostgreSQL " in first.text
    assert first.text.endswith("tables will be created")
    connection = await asyncpg.connect(url)
    try:
        assert await connection.fetchval("SELECT to_regnamespace('mobox')") is None
    finally:
        await connection.close()
    storage = await open_storage(url)
    await storage.close()
    second = await one(databases.check_database, Settings(database_url=url))
    assert second.level == "ok"
    assert second.text.endswith(f", tables {postgres_migrations()[-1].version}")


async def test_postgres_that_cannot_be_used_fails(postgres: Databases) -> None:
    url = await postgres.blank()
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("DROP ROLE IF EXISTS doctor_reader")
        await connection.execute("CREATE ROLE doctor_reader LOGIN PASSWORD 'pw-secret'")
    finally:
        await connection.close()
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    reader = parts._replace(netloc=f"doctor_reader:pw-secret@{host}").geturl()
    finding = await one(databases.check_database, Settings(database_url=reader))
    assert finding.level == "fail"
    assert "its user may not create tables" in finding.text
    assert "pw-secret" not in finding.text
    missing = parts._replace(path="/no_such_database").geturl()
    finding = await one(databases.check_database, Settings(database_url=missing))
    assert finding.level == "fail"
    assert "no_such_database" in finding.text


async def test_redis_answers_or_not(valkey: Valkey) -> None:
    finding = await one(databases.check_redis, Settings(redis_url=valkey.url))
    assert (finding.level, finding.text) == ("ok", f"{valkey.url}: answers")
    assert await found(databases.check_redis, Settings()) == []
    away = Settings(redis_url="redis://:pw-secret@127.0.0.1:1")
    finding = await one(databases.check_redis, away)
    assert finding.level == "fail"
    assert "pw-secret" not in finding.text
    wrong = valkey.address("someone:pw-secret")
    finding = await one(databases.check_redis, Settings(redis_url=wrong))
    assert finding.level == "fail"
    assert "pw-secret" not in finding.text


# Providers


async def test_keys_are_named_with_their_source(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\nGOOGLE_API_KEY={KEY}\n")
    environment = {"ANTHROPIC_API_KEY": KEY, "GOOGLE_API_KEY": ""}
    settings = Settings(data=tmp_path, beside=tmp_path)
    made = await found(models.check_models, settings, environment=environment)
    assert [each.text for each in made] == [
        "anthropic: ANTHROPIC_API_KEY from the environment",
        "openai: OPENAI_API_KEY from .env",
        "gemini: no key: simulated model (set GEMINI_API_KEY or GOOGLE_API_KEY to use the"
        " provider)",
        "tavily: no key: agents do without it (set TAVILY_API_KEY to use it)",
    ]
    assert {each.level for each in made} == {"ok"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("models.yaml", "models:\n  x: {}\n", "models.yaml:2"),
        (".env", "what is this\n", ".env:1"),
    ],
)
async def test_wrong_files_fail(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    finding = await one(models.check_models, Settings(data=tmp_path, beside=tmp_path))
    assert (finding.level, finding.subject) == ("fail", "model")
    assert problem in finding.text
    # The agents are checked all the same.
    made = await found(agents.check_agents, Settings(data=tmp_path, beside=tmp_path))
    assert "demo: emitted" in [each.text for each in made]


UPSTREAMS = """
models:
  mine: {{url: "{url}/v1", key: MY_KEY}}
  open: {{url: "{url}/v1"}}
  search: {{url: "{url}", key: SEARCH_KEY, format: http, paths: [POST /search]}}
"""


async def test_providers_are_called_if_wanted(tmp_path: Path) -> None:
    async def reply(connection: Connection) -> None:
        request = connection.request
        if request.target == "/":
            await connection.document({}, 404)
        elif KEY in (request.header("x-api-key"), request.header("x-goog-api-key")):
            listed = {"models": [1]} if "v1beta" in request.target else {"data": [1, 2]}
            await connection.document(listed)
        else:
            is_open = request.header("authorization") is None
            await connection.document({"data": []} if is_open else {}, 200 if is_open else 401)

    async with scripted_upstream(reply) as upstream:
        (tmp_path / "models.yaml").write_text(UPSTREAMS.format(url=upstream.url))
        environment = {
            "ANTHROPIC_API_KEY": KEY,
            "OPENAI_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": upstream.url,
            "OPENAI_BASE_URL": f"{upstream.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": upstream.url,
            "SEARCH_KEY": KEY,
        }
        settings = Settings(data=tmp_path, beside=tmp_path)
        made = await found(models.check_models, settings, environment=environment, is_online=True)
        requests = {(each.method, each.target) for each in upstream.requests}
        searches = [each for each in upstream.requests if each.target == "/"]
    at = f"from the environment at {upstream.url}"
    assert [(each.level, each.text) for each in made] == [
        ("ok", f"{tmp_path}/models.yaml: upstreams mine, open, search"),
        ("ok", f"anthropic: ANTHROPIC_API_KEY {at}: reachable (200, 2 models)"),
        ("fail", f"openai: OPENAI_API_KEY {at}/v1: the key is not accepted (401)"),
        ("ok", f"gemini: GEMINI_API_KEY {at}: reachable (200, 1 models)"),
        ("ok", "tavily: no key: agents do without it (set TAVILY_API_KEY to use it)"),
        ("warn", f"mine: no key at {upstream.url}/v1: calls will fail"),
        ("ok", f"open: no key at {upstream.url}/v1: reachable (200, 0 models)"),
        ("ok", f"search: SEARCH_KEY {at}: reachable (404)"),
    ]
    assert requests == {("GET", "/v1/models"), ("GET", "/v1beta/models"), ("GET", "/")}
    assert [each.header("authorization") for each in searches] == [None]  # the key stays here
    assert not any(KEY in each.text + each.advice for each in made)


@pytest.mark.parametrize(
    ("status", "body", "level", "text"),
    [
        (400, {"details": [{"reason": "API_KEY_INVALID"}]}, "fail", "is not accepted (400)"),
        (403, {}, "fail", "the key is not accepted (403)"),
        (503, {}, "warn", "responded with 503"),
        (200, b"<html>", "ok", "reachable (200)"),
    ],
)
async def test_responses_of_a_provider(
    tmp_path: Path, status: int, body: Any, level: str, text: str
) -> None:
    async with scripted_upstream(lambda c: c.document(body, status)) as upstream:
        environment = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": upstream.url}
        made = await found(
            models.check_models, Settings(data=tmp_path), environment=environment, is_online=True
        )
    gemini = made[2]
    assert gemini.level == level
    assert text in gemini.text


async def test_provider_that_is_away_fails(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    made = await found(
        models.check_models, Settings(data=tmp_path), environment=environment, is_online=True
    )
    assert made[1].level == "fail"
    assert "cannot be reached" in made[1].text


# Sandboxes


class Box(ProcessSandbox):
    """A sandbox that says that it isolates, if it works."""

    isolates = True

    def __init__(self, problem: str | None = None) -> None:
        self.problem = problem

    def probe(self) -> Trial:
        return Trial(problem=self.problem, limits={"memory": "cgroup v2", "disk": "measured"})


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> dict[str, ProcessSandbox]:
    """The registered sandboxes, for a test to change."""
    there: dict[str, ProcessSandbox] = {
        "bubblewrap": Box(),
        "docker": Box("no engine answers: install docker or podman"),
        "process": ProcessSandbox(),
    }
    monkeypatch.setattr(sandboxes, "known", lambda: [*there, "subprocess"])
    monkeypatch.setattr(sandboxes, "get_sandbox", lambda name: there[name])
    return there


async def sandboxes_found(**settings: Any) -> list[tuple[str, str]]:
    made = await found(check_sandboxes, Settings(**settings))
    assert {each.subject for each in made} == {"sandbox"}
    return [(each.level, each.text) for each in made]


async def test_each_sandbox_is_tried_and_the_chosen_one_is_first(
    boxes: dict[str, ProcessSandbox],
) -> None:
    chosen, docker, process = await sandboxes_found()
    limits = "limits: memory (cgroup v2), disk (measured)"
    assert chosen == ("ok", f"bubblewrap: works, chosen by auto; {limits}")
    missing = "no engine answers: install docker or podman"
    assert docker == ("ok", f"docker: not used, and not available: {missing}")
    assert process[0] == "ok"
    assert process[1].startswith("process: works (use it with --sandbox process); limits: memory (")


async def test_agents_that_are_not_isolated_are_a_warning_where_others_use_them(
    boxes: dict[str, ProcessSandbox],
) -> None:
    boxes["bubblewrap"] = Box("bubblewrap is not installed: install it")
    (level, text), bubblewrapped, _ = await sandboxes_found()
    assert level == "ok"
    assert text.startswith("process: works, chosen by auto; limits: ")
    assert text.endswith("; agents are not isolated")
    assert bubblewrapped == (
        "ok",
        "bubblewrap: not used, and not available: bubblewrap is not installed: install it",
    )
    warning, *_ = await found(check_sandboxes, Settings(auth="keys"))
    assert (warning.level, warning.advice) == ("warn", "bubblewrap is not installed: install it")
    warning, *_ = await found(check_sandboxes, Settings(auth="keys", sandbox="subprocess"))
    assert (warning.level, warning.advice) == ("warn", "use --sandbox bubblewrap")


async def test_a_chosen_sandbox_that_does_not_work_fails(boxes: dict[str, ProcessSandbox]) -> None:
    (level, text), *others = await sandboxes_found(sandbox="docker")
    assert (level, text) == ("fail", "sandbox=docker: no engine answers: install docker or podman")
    assert [text.partition(":")[0] for _, text in others] == ["bubblewrap", "process"]
    (level, text), *_ = await sandboxes_found(sandbox="cardboard")
    assert level == "fail"
    assert "unknown sandbox; known: auto, bubblewrap, docker, process" in text


async def test_an_agent_without_a_sandbox_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "PROGRAM", "no-such-program")
    make_agent(tmp_path, "boxed", "sandbox: bubblewrap\n")
    settings = Settings(data=tmp_path / "data", agents=tmp_path, sandbox="process")
    finding = await one(agents.check_agents, settings)
    assert finding.level == "fail"
    assert finding.text.startswith("boxed: bubblewrap is not installed")
    assert finding.advice == "change sandbox in agent.yaml, or the server's --sandbox"
    wrong = Settings(data=tmp_path / "data", agents=tmp_path, sandbox="cardboard")
    assert (await one(agents.check_agents, wrong)).level == "ok"  # the sandbox is reported


# Agents


def make_agent(folder: Path, name: str, text: str = "", script: bool = True) -> Path:
    agent = folder / name
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text(text)
    if script:
        (agent / "run_agent.py").touch()
    return agent


async def test_agents_are_loaded_and_their_needs_checked(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    make_agent(folder, "a-good-one", "framework: claude\nmodels: [anthropic]\n")
    make_agent(folder, "broken", "name: x\nframwork: claude\n")
    make_agent(folder, "no-entry", script=False)
    make_agent(folder, "no-program", "entry: [no-such-program-here]\n")
    make_agent(folder, "no-variable", "env: [NEEDED, ALSO]\noptional_env: [MAYBE]\n")
    listed = make_agent(folder, "packages")
    (listed / "requirements.txt").write_text("some-package==1\n")
    settings = Settings(data=tmp_path / "data", agents=folder, agent="nobody")
    made = await found(agents.check_agents, settings, environment={"NEEDED": "x"})
    texts = [(each.level, each.text) for each in made]
    assert texts[0] == ("ok", "a-good-one: claude, simulated model")
    assert texts[1][0] == "fail"
    assert "agent.yaml:2: framwork: unknown field" in texts[1][1]
    assert texts[2][0] == "fail"
    assert "there is no file 'run_agent.py'" in texts[2][1]
    assert texts[3:] == [
        ("fail", "no-program: entry: there is no program 'no-such-program-here'"),
        ("warn", "no-variable: needs ALSO in the server's environment"),
        (
            "ok",
            "packages: its first run installs its packages (or now: mobox agents install packages"
            f" --agents {folder} --environments {tmp_path}/data/environments)",
        ),
        ("fail", "there is no default agent 'nobody'"),
    ]
    served = Settings(data=tmp_path / "data", agents=folder, auth="keys")
    last = (await found(agents.check_agents, served))[-1]
    assert (last.level, last.text) == ("fail", "packages: its packages are not installed")


async def test_folder_of_agents_that_is_not_there_fails(tmp_path: Path) -> None:
    finding = await one(agents.check_agents, Settings(agents=tmp_path / "nowhere"))
    assert (finding.level, finding.text) == ("fail", f"{tmp_path}/nowhere: no such folder")
    assert finding.advice == "change --agents or MOBOX_AGENTS"


async def test_failed_install_is_reported(tmp_path: Path) -> None:
    listed = make_agent(tmp_path / "agents", "packages")
    (listed / "requirements.txt").write_text("/no/such/file.whl\n")
    code, _, _ = mobox("agents", "install", cwd=tmp_path)
    assert code == 1
    settings = Settings(data=tmp_path / ".mobox", agents=tmp_path / "agents")
    finding = await one(agents.check_agents, settings)
    assert finding.level == "fail"
    assert finding.text.startswith("packages: its packages could not be installed: ")
