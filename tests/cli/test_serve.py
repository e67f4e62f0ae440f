"""`mobox serve`: what can be set, what is said, and what is refused in words."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from starlette.routing import Route

from mobox.cli import main
from mobox.errors import InvalidSetting
from mobox.server.app import open_services
from mobox.settings import SETTINGS, Setting, Settings, read_settings, show_settings
from server.app_client import routes_of
from server.live_server import AGENTS, LIMIT, live_server, message, mobox

VALUES = {
    "host": ("::1", "::1"),
    "port": ("8123", 8123),
    "auth": ("keys", "keys"),
    "data": ("/srv/mobox", Path("/srv/mobox")),
    "database_url": ("memory:", "memory:"),
    "database_connections": ("12", 12),
    "redis_url": ("redis://cache:6379/1", "redis://cache:6379/1"),
    "redis_prefix": ("team", "team"),
    "agents": ("/srv/agents", Path("/srv/agents")),
    "environments": ("/srv/environments", Path("/srv/environments")),
    "sandbox": ("process", "process"),
    "agent": ("demo", "demo"),
    "allowed_hosts": ("a.example, b.example,", ("a.example", "b.example")),
    "allowed_origins": ("https://a.example", ("https://a.example",)),
    "allowed_headers": ("X-One,x-two", ("x-one", "x-two")),
    "allow_credentials": ("yes", True),
    "forwarded_headers": ("X-Tenant", ("x-tenant",)),
    "static_tools": ("ALL", "all"),
    "max_body": ("1000", 1000),
    "request_timeout": ("9", 9.0),
    "max_chat_body": ("2000", 2000),
    "files": ("s3", "s3"),
    "max_file": ("300", 300),
    "max_files_per_owner": ("3000", 3000),
    "max_runs": ("3", 3),
    "max_runs_per_owner": ("2", 2),
    "max_runs_per_minute": ("5", 5),
    "max_streams": ("7", 7),
    "when_running": ("Interrupt", "interrupt"),
    "error_details": ("Brief", "brief"),
    "max_spares": ("0", 0),
    "hold": ("2.5", 2.5),
    "lease": ("1.5", 1.5),
    "workers": ("2", 2),
    "execute": ("Workers", "workers"),
    "queue": ("2.5", 2.5),
    "drain": ("2.5", 2.5),
    "health_port": ("8124", 8124),
    "health_host": ("0.0.0.0", "0.0.0.0"),
    "models": ("my.yaml", Path("my.yaml")),
    "record_models": ("true", True),
    "brand_name": ("Acme", "Acme"),
    "brand_logo": ("logo.svg", Path("logo.svg")),
    "brand_accent": ("#0a7d5a", "#0a7d5a"),
    "brand_welcome": ("How can we help?", "How can we help?"),
    "brand_starters": ("One, two|Three", ("One, two", "Three")),
    "hidden": ("demo,protocol", ("demo", "protocol")),
    "page_modules": ("a.js, b.mjs", (Path("a.js"), Path("b.mjs"))),
    "embed_origins": ("https://shop.example", ("https://shop.example",)),
    "log_level": ("WARNING", "warning"),
}

each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("httptools", "starlette", "uvicorn", "uvloop", "yaml"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def value_of(settings: Settings, field: str) -> object:
    return getattr(settings, field)


def shown(*arguments: str, cwd: Path | None = None, **env: str) -> dict[str, list[str]]:
    """What `--show-settings` says: of each setting its value and, if somebody set it, who."""
    code, out, err = mobox("serve", "--show-settings", *arguments, cwd=cwd, **env)
    assert (code, err) == (0, "")
    return {line.split()[0]: line.split()[1:] for line in out.splitlines()}


def refusal(*arguments: str | Path, **env: str) -> str:
    """What a server says that does not start: one line, and the exit code 2."""
    code, out, err = mobox("serve", *arguments, cwd=None, **env)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("mobox: ")
    return err.removeprefix("mobox: ").removesuffix("\n")


def served(data: Path, path: str, *arguments: str | Path, **env: str) -> tuple[httpx.Response, str]:
    """What a server says to a question, and what it has said on stderr when it has ended."""
    with live_server(data, *arguments, patience=3 * LIMIT, **env) as server:
        answer = httpx.get(server.url + path, timeout=LIMIT, trust_env=False)
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
    return answer, server.warnings


PREFIX = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (\w+) \[\d+\] mobox\.server", re.M)
"""How a line of the server's log starts: time, level, process and logger."""


# Where settings come from


def test_every_setting_is_tried_here() -> None:
    assert VALUES.keys() == SETTINGS.keys()
    of_a_supervisor = {"grace", "look", "notice", "quiet", "sweep", "sweep_files", "unfinished"}
    of_a_store = {"busy_seconds", "opening_seconds", "poll_seconds", "raw_bytes", "readers"}
    of_processes = {"exit_grace", "exit_seconds", "spare_seconds"}
    of_a_store |= {"idle_seconds", "search_seconds"}
    of_a_program = {"beside", "claims", "clock", "installs", "synchronous"}
    only_in_programs = of_a_supervisor | of_processes | of_a_store | of_a_program
    assert VALUES.keys() | only_in_programs == set(Settings.__struct_fields__)
    assert not VALUES.keys() & only_in_programs


@each_setting
def test_a_setting_is_set_by_its_flag_else_its_variable_else_by_default(setting: Setting) -> None:
    text, value = VALUES[setting.field]
    default = value_of(Settings(), setting.field)
    assert value != default
    assert value_of(read_settings({}, {}), setting.field) == default
    assert value_of(read_settings({setting.env: text}, {}), setting.field) == value
    assert value_of(read_settings({}, {setting.field: text}), setting.field) == value
    both = read_settings({setting.env: "not looked at"}, {setting.field: text})
    assert value_of(both, setting.field) == value


@each_setting
def test_empty_setting_is_unset(setting: Setting) -> None:
    text, value = VALUES[setting.field]
    default = value_of(Settings(), setting.field)
    assert value_of(read_settings({setting.env: ""}, {setting.field: ""}), setting.field) == default
    assert value_of(read_settings({setting.env: text}, {setting.field: ""}), setting.field) == value


@each_setting
def test_the_command_has_a_flag_for_each_setting_and_names_its_variable(
    setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    told = capsys.readouterr().out
    assert f"{setting.flag} " in told
    assert f"[{setting.env}" in told


def test_the_settings_are_shown_with_what_set_them(tmp_path: Path) -> None:
    told = shown("--port", "8123", cwd=tmp_path, PORT="1", MOBOX_HOLD="5", MOBOX_DATA="")
    assert told.keys() == SETTINGS.keys()
    assert told["port"] == ["8123", "--port"]
    assert told["hold"] == ["5.0", "MOBOX_HOLD"]
    assert told["data"] == [".mobox"]
    assert told["database_url"] == ["sqlite:///.mobox/mobox.db"]
    assert told["agent"] == []


def test_shown_settings_without_arguments_are_the_defaults(tmp_path: Path) -> None:
    assert shown("--port", "0", "--data", "d", cwd=tmp_path)["port"] == ["0", "--port"]
    assert shown("--data", "d", cwd=tmp_path)["database_url"] == ["sqlite:///d/mobox.db"]
    assert shown(cwd=tmp_path)["agents"][0].endswith("/agents")
    (tmp_path / "agents").mkdir()
    assert shown(cwd=tmp_path)["agents"] == ["agents"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://ann:hunter2@db/mobox", "postgres://***@db/mobox"),
        ("postgres://ann:hunt/er2@db/mobox", "postgres://***@db/mobox"),
        ("postgres://ann:hunt@er2@db/mobox", "postgres://***@db/mobox"),
        ("postgres://ann:hunt?er2@db/mobox", "postgres://***"),
        ("postgres://db/mobox?user=ann&password=hunter2", "postgres://db/mobox?***"),
        ("postgres://ann@db/mobox?password=hunt@er2", "postgres://***"),
        ("sqlite:////home/a@b/mobox.db", "sqlite:////home/a@b/mobox.db"),
    ],
)
def test_a_password_is_not_shown(url: str, expected: str) -> None:
    settings = read_settings({"DATABASE_URL": url}, {})
    lines = show_settings(settings, {"DATABASE_URL": url}, {}).splitlines()
    (told,) = [line.split() for line in lines if line.startswith("database_url ")]
    assert told == ["database_url", expected, "DATABASE_URL"]


def test_redis_password_is_not_shown_in_errors() -> None:
    variables = {"REDIS_URL": "redis://:hunter2@cache/0"}
    shown = show_settings(read_settings(variables, {}), variables, {})
    assert "redis://***@cache/0" in shown
    with pytest.raises(InvalidSetting) as refused:
        read_settings({"REDIS_URL": "http://:hunter2@cache"}, {})
    assert str(refused.value).startswith("REDIS_URL=http://***@cache: expected a URL that starts")
    assert "hunter2" not in f"{shown}{refused.value}"


# What is refused


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("port", "http", "expected a number from 0 to 65535"),
        ("port", "-1", "expected a number from 0 to 65535"),
        ("port", "65536", "expected a number from 0 to 65535"),
        ("max_runs", "0", "expected a whole number from 1 upwards"),
        ("max_body", "8M", "expected a whole number from 1 upwards"),
        ("static_tools", "some", "expected one of page, all, none"),
        ("max_spares", "-1", "expected a whole number from 0 upwards"),
        ("database_connections", "2", "expected a whole number from 3 upwards"),
        ("hold", "0", "expected seconds, more than 0"),
        ("hold", "inf", "expected seconds, more than 0"),
        ("lease", "nan", "expected seconds, more than 0"),
        ("lease", "soon", "expected seconds, more than 0"),
        ("workers", "0", "expected a whole number from 1 upwards"),
        ("execute", "there", "expected one of here, workers"),
        ("when_running", "wait", "expected one of auto, interrupt, reject"),
        ("health_port", "x", "expected a number from 0 to 65535"),
        ("log_level", "loud", "expected one of debug, info, warning, error"),
        ("allowed_hosts", "a.example,https://b.example", "'https://b.example' is not a host"),
        ("allowed_hosts", "a.example:8000", "'a.example:8000' is not a host"),
        ("allowed_origins", "https://a.example,b.example", "'b.example' is not an origin"),
        ("allowed_origins", "*", "'*' is not an origin"),
        ("auth", "key", "expected none or keys"),
        ("host", "example.org", "without authentication a server"),
        ("host", "192.168.1.5", "without authentication a server"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_the_name_it_came_by(
    field: str, text: str, problem: str
) -> None:
    setting = SETTINGS[field]
    with pytest.raises(InvalidSetting) as by_flag:
        read_settings({}, {field: text})
    assert str(by_flag.value).startswith(f"{setting.flag}={text}: {problem}")
    with pytest.raises(InvalidSetting) as by_variable:
        read_settings({setting.env: text}, {})
    assert str(by_variable.value).startswith(f"{setting.env}={text}: {problem}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_without_keys_is_for_this_machine_only(host: str) -> None:
    assert refusal("--host", host) == (
        f"--host={host}: without authentication a server listens on loopback only"
        " (127.0.0.1, ::1, localhost); use --auth keys to listen on other addresses"
    )


def test_no_program_can_set_it_otherwise() -> None:
    with pytest.raises(InvalidSetting, match=r"^host=0\.0\.0\.0: without authentication"):
        Settings(host="0.0.0.0")


def test_a_port_that_is_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert refusal("--port", port, "--data", tmp_path / "data") == (
            f"port={port}: port already in use on 127.0.0.1; "
            "choose another with --port or PORT, or 0 for any free port"
        )
    assert not (tmp_path / "data").exists(), "nothing is done where nothing can be served"


@pytest.mark.parametrize("address", ["mysql://ann:hunter2@db/mobox", "sqlite:///", "mobox.db"])
def test_unknown_store_is_rejected(tmp_path: Path, address: str) -> None:
    said = refusal("--port", "0", "--data", tmp_path, DATABASE_URL=address)
    assert said.startswith("unknown store ")
    assert "known: memory:, sqlite:///PATH, postgresql://HOST/DATABASE" in said
    assert "DATABASE_URL" in said
    assert "hunter2" not in said


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    there = tmp_path / "none" / "mobox.db"
    said = refusal("--port", "0", "--data", tmp_path, "--database-url", f"sqlite:///{there}")
    assert said.startswith(f"cannot open {there}: ")


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "data"
    assert refusal("--port", "0", "--data", folder) == (
        f"data={folder}: cannot create this folder: Not a directory"
    )
    said = refusal("--port", "0", MOBOX_DATA=str(tmp_path / "file"))
    assert said == f"data={tmp_path / 'file'}: cannot create this folder: File exists"


def test_stored_data_is_readable_only_by_its_user(tmp_path: Path) -> None:
    kept, made = tmp_path / "kept", tmp_path / "made"
    kept.mkdir(mode=0o755)
    for data in (kept, made):
        with live_server(data, patience=3 * LIMIT) as server:
            httpx.post(f"{server.url}/api/chat", json=message("c1", "text Hi"), trust_env=False)
            inside = [*data.iterdir(), *(data / "state").iterdir()]
            modes = {path: path.stat().st_mode & 0o777 for path in inside}
            folders = {path for path in inside if path.is_dir()}
        assert {data / "state", data / "mobox.db", data / "mobox.db-wal"} < modes.keys()
        assert modes == {path: 0o700 if path in folders else 0o600 for path in inside}
    assert (kept.stat().st_mode & 0o777, made.stat().st_mode & 0o777) == (0o755, 0o700)


def test_an_abbreviation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["serve", "--dat", "x"])
    assert end.value.code == 2
    assert "--dat" in capsys.readouterr().err


def test_command_without_its_packages_names_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    code, out, err = mobox("serve", "--port", "0", "--data", tmp_path, PYTHONPATH=path)
    assert (code, out) == (2, "")
    assert err.startswith("mobox: mobox serve needs uvicorn, which comes with Mobox's extra")
    assert "pip install '.[server]' in a clone" in err
    for arguments in (["convert", "--list"], ["serve", "--show-settings"], ["serve", "--help"]):
        assert mobox(*arguments, PYTHONPATH=path)[0] == 0, "what needs no server goes on working"


def test_commands_that_serve_nothing_do_not_load_the_server() -> None:
    code = "import sys, mobox.cli; print({'starlette', 'uvicorn'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"


# What it says


def test_the_first_thing_to_read_is_the_address_and_the_last_is_nothing(tmp_path: Path) -> None:
    with live_server(tmp_path / "data") as server:
        assert server.first_line == f"Mobox is at {server.url} (Ctrl+C to stop)\n"
        assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200
        server.signal(signal.SIGINT)
        assert server.wait() == 0
        assert server.process.stdout is not None
        line = "Agents run as processes of this user, not isolated\n"
        assert (server.process.stdout.read(), server.warnings) == (line, "")
        assert server.log.count("agents run in the sandbox 'process'; limits: memory (") == 1


def test_localhost_is_the_address_that_every_machine_has(tmp_path: Path) -> None:
    with live_server(tmp_path / "data", "--host", "localhost") as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200


def test_other_loggers_are_shown_only_with_verbose_logging(tmp_path: Path) -> None:
    assert "Started server process" not in served(tmp_path / "a", "/healthz")[1]
    told = served(tmp_path / "b", "/healthz", MOBOX_LOG_LEVEL="debug")[1]
    assert "Started server process" in told


def test_an_agent_that_is_added_needs_no_restart(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    with live_server(tmp_path / "data", "--agents", folder) as server:
        address = f"{server.url}/api/agents"
        assert httpx.get(address, trust_env=False).json()["agents"] == []
        agent = folder / "new"
        agent.mkdir()
        (agent / "agent.yaml").write_text("nmae: New")
        broken = httpx.get(address, trust_env=False).json()
        assert [each["id"] for each in broken["problems"]] == ["new"]
        assert "nmae" in broken["problems"][0]["message"]
        (agent / "agent.yaml").write_text("name: New")
        code = "from shared.emitter import emit_text\n\nemit_text('Hi')\n"
        (agent / "run_agent.py").write_text(code)
        assert [each["name"] for each in httpx.get(address, trust_env=False).json()["agents"]] == [
            "New"
        ]
        answer = httpx.post(f"{server.url}/api/chat", json=message("c1", "Hello"), trust_env=False)
        assert "Hi" in answer.text


def test_a_server_without_agents_starts_and_warns(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    answer, said = served(tmp_path / "data", "/api/agents", "--agents", folder)
    assert answer.json() == {"agents": [], "default": None, "problems": []}
    line = f"WARNING: no agents: no folder in {folder} has a valid agent.yaml\n"
    assert PREFIX.sub(r"\1", said) == line


def test_a_folder_of_agents_that_is_not_there_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    assert (
        refusal("--port", "0", "--data", tmp_path, "--agents", folder)
        == f"agents={folder}: no such folder"
    )


def test_agent_with_a_broken_file_is_skipped_and_reported(tmp_path: Path) -> None:
    for name, text in (("good", "name: Good\n"), ("bad", "name: Bad\nframework: cobol\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.yaml").write_text(text)
        (tmp_path / name / "run_agent.py").touch()
    answer, said = served(tmp_path / "data", "/api/agents", "--agents", tmp_path)
    assert [agent["id"] for agent in answer.json()["agents"]] == ["good"]
    (line,) = said.splitlines()
    assert PREFIX.sub(r"\1", line).startswith(
        f"WARNING: agent skipped: {tmp_path}/bad/agent.yaml:2: framework: unknown framework"
    )


def test_a_variable_that_the_server_does_not_have_is_warned_of_once(tmp_path: Path) -> None:
    env = "env: {MISSING_KEY: , HOME: , MODEL: m-1}\n"
    for name, text in (("needy", env), ("content", "env: [HOME]\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.yaml").write_text(text)
        (tmp_path / name / "run_agent.py").touch()
    _, said = served(tmp_path / "data", "/api/agents", "--agents", tmp_path)
    (line,) = said.splitlines()
    problem = "agent 'needy' names MISSING_KEY in env, but the server has no value for it"
    assert PREFIX.sub(r"\1", line) == f"WARNING: {problem}"


def test_a_default_agent_that_is_not_there_is_refused(tmp_path: Path) -> None:
    said = refusal("--port", "0", "--data", tmp_path, "--agents", AGENTS, "--agent", "conter")
    assert said == "agent=conter: no such agent; known: counter"


def test_agents_are_found_from_another_folder(tmp_path: Path) -> None:
    code, out, _ = mobox("serve", "--show-settings", cwd=tmp_path)
    assert code == 0
    assert f"{Path(__file__).parents[2] / 'agents'}" in out


def test_a_server_that_keeps_nothing_writes_no_database(tmp_path: Path) -> None:
    answer, said = served(tmp_path / "data", "/api/chats", "--database-url", "memory:")
    assert (answer.json(), said) == ({"chats": [], "before": None, "pinned": []}, "")
    assert list((tmp_path / "data").iterdir()) == []


# What the page about it says

PAGE = Path(__file__).parent.parent.parent / "docs" / "server.md"


def test_the_page_lists_the_settings() -> None:
    rows = [
        f"| `{setting.flag}` | `{setting.env}` | {default} | {setting.help} |"
        for setting in SETTINGS.values()
        for default in [f"`{setting.default}`" if setting.default else ""]
    ]
    assert [line for line in PAGE.read_text().splitlines() if line.startswith("| `--")] == rows


async def test_the_page_lists_the_routes(tmp_path: Path) -> None:
    told = re.findall(r"`((?:GET|POST|PATCH|DELETE) /[^`]*)`", PAGE.read_text())
    async with open_services(Settings(data=tmp_path, database_url="memory:")) as services:
        found = [route for route in routes_of(services) if isinstance(route, Route)]
        outcome = {f"{m} {r.path_format}" for r in found for m in (r.methods or ()) if m != "HEAD"}
    assert set(told) == outcome
    assert len(told) == len(set(told))
