"""compose.yaml says what `mobox` understands, and what it says works."""

from __future__ import annotations

import asyncio
import re
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from mobox.settings import SETTINGS
from server.composed import NEEDED, OURS, ROOT, SECRETS, Process, composed, running, services
from server.live_server import LIMIT, message, mobox
from server.proxies import SERVERS
from support.postgres_server import Databases
from support.valkey_server import Valkey
from support.waiting import wait_until

UVICORNS = {"FORWARDED_ALLOW_IPS"}
ENDING = 45
"""Seconds that a server needs to end, as docs/server.md says."""


def settings_of(name: str) -> dict[str, str]:
    """What holds for a service, as the command itself says."""
    service = services()[name]
    told = {"MOBOX_AGENTS": str(ROOT / "agents")}
    code, out, err = mobox(
        *service["command"], "--show-settings", **{**service["environment"], **told}
    )
    assert code == 0, err
    return {words[0]: words[1] for words in map(str.split, out.splitlines()) if len(words) > 2}


# Secrets


def test_nothing_begins_without_secrets_and_no_secret_has_a_default() -> None:
    text = (ROOT / "compose.yaml").read_text()
    used = NEEDED.findall(text)
    assert len(used) == text.count("$"), "a variable that may be missing"
    asked = (ROOT / ".env.example").read_text()
    assert set(re.findall(r"^(\w+)=$", asked, re.MULTILINE)) == set(used) == set(SECRETS)


def test_the_addresses_are_those_of_the_services() -> None:
    told = services()
    owner = told["postgres"]["environment"]
    command = told["redis"]["command"]
    for name in OURS:
        database = urlsplit(told[name]["environment"]["DATABASE_URL"])
        assert (database.scheme, database.hostname, database.port) == (
            "postgresql", "postgres", 5432,
        )  # fmt: skip
        assert (database.username, database.password, database.path) == (
            owner["POSTGRES_USER"], owner["POSTGRES_PASSWORD"], "/" + owner["POSTGRES_DB"],
        )  # fmt: skip
        redis = urlsplit(told[name]["environment"]["REDIS_URL"])
        assert (redis.hostname, redis.port) == ("redis", 6379)
        assert redis.password == command[command.index("--requirepass") + 1]


# What is said of each service


@pytest.mark.parametrize("name", OURS)
def test_every_word_of_a_service_is_one_that_mobox_has(name: str) -> None:
    known = {setting.env for setting in SETTINGS.values()} | UVICORNS
    assert set(services()[name]["environment"]) <= known
    settings = settings_of(name)
    assert settings["data"] in [place.split(":")[1] for place in services()[name]["volumes"]]
    assert "of-" not in str(settings), "a password is shown"


@pytest.mark.parametrize(("name", "place"), [("web1", SERVERS[0]), ("web2", SERVERS[1])])
def test_server_is_at_the_pages_base_and_requires_keys(name: str, place: str) -> None:
    settings = settings_of(name)
    assert services()[name]["ports"] == [f"{place}:{settings['port']}"]
    assert (settings["auth"], settings["execute"]) == ("keys", "workers")


def test_no_owner_has_all_the_places_of_the_worker() -> None:
    told = {name: settings_of(name) for name in OURS}
    each = {name: int(settings["max_runs_per_owner"]) for name, settings in told.items()}
    assert each["worker"] < int(told["worker"]["max_runs"])
    assert len(set(each.values())) == 1, "who begins runs and who executes them count alike"
    assert {settings["auth"] for settings in told.values()} == {"keys"}


def test_only_servers_can_be_reached_from_outside() -> None:
    assert [name for name, service in services().items() if "ports" in service] == ["web1", "web2"]


def test_every_service_is_watched_and_waits_for_what_it_needs() -> None:
    told = services()
    assert all("healthcheck" in service for service in told.values())
    for name in OURS:
        healthy = {"condition": "service_healthy"}
        assert told[name]["depends_on"] == {"postgres": healthy, "redis": healthy}
        assert told[name]["stop_grace_period"] == f"{ENDING}s"


def test_data_is_kept_in_volumes() -> None:
    mounts = [each for service in services().values() for each in service.get("volumes", ())]
    named = {mount.split(":")[0] for mount in mounts if not mount.startswith(".")}
    assert named == set(composed()["volumes"])


# The image


def test_image_contains_existing_files_and_runs_without_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if re.match(r"COPY (?!--from)", line)]
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists()
        assert f"!{source}" in let_in
    assert [line for line in lines if line.startswith("USER")] == ["USER mobox"]
    assert 'ENTRYPOINT ["mobox"]' in lines


def test_the_image_has_the_versions_that_are_tested() -> None:
    pins = {
        name: set(re.findall(r"^([\w-]+==\S+)", text, re.MULTILINE))
        for name in ("deploy", "dev")
        for text in [(ROOT / "requirements" / f"{name}.txt").read_text()]
    }
    assert pins["deploy"] <= pins["dev"]
    names = {pin.partition("==")[0] for pin in pins["deploy"]}
    assert {"asyncpg", "redis", "hiredis", "uvicorn", "starlette"} <= names


# All of it


def test_two_servers_and_a_worker_do_what_they_are_there_for(
    postgres: Databases, valkey: Valkey, tmp_path: Path
) -> None:
    places: dict[str, Any] = {
        "DATABASE_URL": asyncio.run(postgres.blank()),
        "REDIS_URL": valkey.url,
        "MOBOX_DATA": str(tmp_path / "data"),
        "MOBOX_AGENTS": str(ROOT / "agents"),
        "HOST": "127.0.0.1",
        "PORT": "0",
    }
    with ExitStack() as stack:
        told = services()
        one, two, worker = (stack.enter_context(running(told[name], places)) for name in OURS)
        wait_until(lambda: all(process.is_healthy() for process in (one, two, worker)))
        made = mobox("keys", "add", "--owner", "ann", **places)
        (key,) = re.findall(r"mbx_\S+", made[1])
        check_a_conversation(one, two, {"authorization": f"Bearer {key}"})
        for process in (one, two, worker):
            process.process.send_signal(signal.SIGTERM)
        for process in (one, two, worker):
            assert process.process.wait(LIMIT) == 0


def check_a_conversation(one: Process, two: Process, known: dict[str, str]) -> None:
    """Said at one, done by the worker, read at the other."""
    elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")  # as the proxy is not in there
    with httpx.Client(transport=elsewhere, timeout=LIMIT) as http:
        said = message("chat", "text Hi!")
        assert http.post(f"{one.url}/api/chat", json=said).status_code == 401
        page = {"origin": one.url.replace("http", "https"), "x-forwarded-proto": "https"}
        answer = http.post(f"{one.url}/api/chat", json=said, headers={**known, **page})
        assert answer.status_code == 200, answer.text
        run = {"run": answer.headers["x-mobox-run"]}
        again = http.get(f"{two.url}/api/chat/chat/stream", params=run, headers=known)
        assert frames(again) == frames(answer)
        assert frames(answer)[-1] == "data: [DONE]"


def frames(response: httpx.Response) -> list[str]:
    return [line for line in response.text.splitlines() if line.startswith("data: ")]
