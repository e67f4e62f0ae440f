"""How environments are installed: by uv, once, whole or not at all."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from environments.test_environments import make
from mobox.capture.catalog import load_agent
from mobox.environments import Environment, environment_of, hold
from mobox.environments.installing import (
    Environments,
    Progress,
    install_environment,
    write_note,
)
from mobox.environments.uv import environment as environment_of_uv
from mobox.environments.uv import find_uv
from mobox.errors import InstallFailed, NotInstalled
from server.live_server import MOBOX, clean_environment
from support.waiting import until
from support.wheels import make_wheel


@pytest.fixture
def folder(tmp_path: Path, index: Path) -> Path:
    return tmp_path / "agents" / "echo"


def of(folder: Path) -> Environment:
    found = environment_of(load_agent(folder), folder.parents[1] / "environments")
    assert found is not None
    return found


async def installed(
    environment: Environment, *, allow_builds: bool = False, pause: float = 0
) -> list[str]:
    """Install it; what was reported."""
    reported: list[str] = []

    async def report(message: str) -> None:
        reported.append(message)

    await install_environment(environment, report, allow_builds=allow_builds, pause=pause)
    return reported


async def problem(folder: Path) -> str:
    """Why it cannot be installed, which is also kept."""
    environment = of(folder)
    with pytest.raises(InstallFailed) as raised:
        await installed(environment)
    assert not environment.is_installed()
    assert (environment.state(), environment.problem()) == ("failed", str(raised.value))
    return str(raised.value)


def version_in(environment: Environment) -> str:
    code = "import tiny, sys; print(tiny.VERSION, sys.prefix)"
    shown = subprocess.run(
        [environment.python, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    version, prefix = shown.stdout.split()
    assert prefix == str(environment.path)
    return version


async def test_the_packages_of_requirements_are_installed(folder: Path) -> None:
    environment = of(make(folder, agent_yaml="name: Echo\n", requirements_txt="big==1.0\n"))
    assert environment.state() == "missing"
    *installing, last = await installed(environment)
    assert installing == [
        "Installing the packages of Echo…",
        "Installing 2 packages for Echo…",
        "Compiling 2 packages for Echo…",
    ]
    assert last.startswith("Installed 2 packages in ")
    assert environment.state() == "installed"
    assert version_in(environment) == "2.0"
    assert await installed(environment) == []


async def test_the_packages_of_a_project_are_installed(folder: Path) -> None:
    project = '[project]\nname = "echo"\nversion = "1"\ndependencies = ["tiny<2"]\n'
    environment = of(make(folder, pyproject_toml=project))
    await installed(environment)
    assert version_in(environment) == "1.0"


async def test_the_packages_of_a_lock_file_are_installed(folder: Path) -> None:
    project = '[project]\nname = "echo"\nversion = "1"\ndependencies = ["tiny"]\n'
    project += 'requires-python = ">=3.11"\n'
    make(folder, pyproject_toml=project.replace("tiny", "tiny<2"))
    await asyncio.to_thread(subprocess.run, [find_uv(), "lock", "--quiet"], cwd=folder, check=True)
    environment = of(folder)
    assert environment.source == "uv.lock"
    await installed(environment)
    assert version_in(environment) == "1.0"
    make(folder, pyproject_toml=project.replace("tiny", "tiny>=2"))
    assert "lockfile" in await problem(folder)


async def test_packages_are_compiled(folder: Path) -> None:
    environment = of(make(folder, requirements_txt="tiny\n"))
    await installed(environment)
    assert list(environment.path.glob("lib/*/site-packages/__pycache__/tiny.*.pyc"))


async def test_hashes_are_verified(folder: Path, index: Path) -> None:
    right = make_wheel(index, "exact")
    make(folder, requirements_txt=f"exact==1.0 --hash=sha256:{right}\n")
    await installed(of(folder))
    make(folder, requirements_txt=f"exact==1.0 --hash=sha256:{'0' * 64}\n")
    assert "Hash mismatch for `exact==1.0`" in await problem(folder)


async def test_a_file_with_some_hashes_needs_all_of_them(folder: Path, index: Path) -> None:
    right = make_wheel(index, "exact")
    make(folder, requirements_txt=f"exact==1.0 --hash=sha256:{right}\ntiny==1.0\n")
    assert "tiny==1.0" in await problem(folder)


async def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    environment = of(make(folder, requirements_txt="tiny\n"))
    environment.path.parent.write_text("a file in its place")
    with pytest.raises(InstallFailed, match=f"^File exists: {environment.path.parent}$"):
        await installed(environment)


async def test_an_unknown_package_is_named(folder: Path) -> None:
    assert "unheard" in await problem(make(folder, requirements_txt="unheard==1.0\n"))


async def test_an_unreadable_file_is_explained(folder: Path) -> None:
    assert "requirements.txt" in await problem(make(folder, requirements_txt="tiny ==== 1\n"))


async def test_only_wheels_are_installed_unless_builds_are_allowed(folder: Path) -> None:
    make(folder, requirements_txt="raw==1.0\n")
    assert "raw==1.0 has no usable wheels" in (why := await problem(folder))
    assert "--allow-builds" in why
    with pytest.raises(InstallFailed, match="setuptools"):  # there is no such package to build with
        await installed(of(folder), allow_builds=True)


async def test_an_unreachable_index_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_OFFLINE", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    assert address in await problem(make(folder, requirements_txt="tiny\n"))


async def test_a_recent_failure_is_repeated_without_another_attempt(
    folder: Path, index: Path
) -> None:
    make(folder, requirements_txt="late==1.0\n")
    first = await problem(folder)
    make_wheel(index, "late")
    with pytest.raises(InstallFailed) as again:
        await installed(of(folder), pause=60)
    assert str(again.value) == first
    os.utime(of(folder).path / "failed", (0, 0))
    assert len(await installed(of(folder), pause=60)) == 4
    assert of(folder).problem() == ""


async def test_changed_files_are_tried_at_once(folder: Path) -> None:
    await problem(make(folder, requirements_txt="unheard\n"))
    assert await installed(of(make(folder, requirements_txt="tiny\n")), pause=60)


async def test_an_environment_that_was_not_completed_is_built_again(folder: Path) -> None:
    environment = of(make(folder, requirements_txt="tiny==1.0\n"))
    await installed(environment)
    (environment.path / "complete").unlink()
    (environment.path / "bin" / "python").unlink()
    assert environment.state() == "missing"
    await installed(environment)
    assert version_in(environment) == "1.0"


async def test_several_who_need_it_install_it_once(folder: Path) -> None:
    environment = of(make(folder, agent_yaml="name: Echo\n", requirements_txt="big\n"))
    reported = await asyncio.gather(*(installed(environment) for _ in range(3)))
    waiting = ["Waiting for another run that installs Echo…"]
    assert sorted(map(len, reported)) == [1, 1, 4]
    assert reported.count(waiting) == 2


def start_install(environment: Environment) -> subprocess.Popen[str]:
    """Install all agents of its folder by the command."""
    folders: list[str | Path] = [
        "--agents",
        environment.folder.parent,
        "--environments",
        environment.path.parent,
    ]
    return subprocess.Popen(
        [*MOBOX, "agents", "install", *folders],
        stdout=subprocess.PIPE,
        env=clean_environment(),
        text=True,
    )


def test_several_processes_install_it_once(folder: Path) -> None:
    environment = of(make(folder, requirements_txt="big\n"))
    started = [start_install(environment) for _ in range(3)]
    shown = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert sum(text.count("Installed 2 packages") for text in shown) == 1
    assert version_in(environment) == "2.0"


async def test_the_lines_of_uv_are_told_in_our_words() -> None:
    reported: list[str] = []

    async def report(message: str) -> None:
        reported.append(message)

    environment = Environment(
        agent="echo", name="Echo", folder=Path(), source="uv.lock", path=Path()
    )
    progress = Progress(environment, report)
    for line in (
        "Using Python 3.11.7 environment at: x",
        "Resolved 1 package in 3ms",
        "Downloading torch (797.2MiB)",
        "   Building docopt==0.6.2",
        " Downloaded torch",
        "Installed 1 package in 2ms",
        " + torch==2.9.0",
    ):
        await progress.line(line)
    assert reported == [
        "Installing 1 package for Echo…",
        "Downloading torch (797.2 MiB)…",
        "Building docopt==0.6.2…",
        "Compiling 1 package for Echo…",
    ]


# Others of the same agent


async def test_earlier_environments_are_removed(folder: Path) -> None:
    first = of(make(folder, requirements_txt="tiny==1.0\n"))
    await installed(first)
    failed = of(make(folder, requirements_txt="unheard\n"))
    await problem(folder)
    last = of(make(folder, requirements_txt="tiny==2.0\n"))
    await installed(last)
    assert not first.path.exists()
    assert not failed.path.exists()
    assert last.state() == "installed"


async def test_an_environment_in_use_is_not_removed(folder: Path) -> None:
    first = of(make(folder, requirements_txt="tiny==1.0\n"))
    await installed(first)
    used = hold(first)
    assert used is not None
    await installed(of(make(folder, requirements_txt="tiny==2.0\n")))
    assert first.state() == "installed"
    os.close(used)
    await installed(of(make(folder, requirements_txt="tiny\n")))
    assert first.state() == "missing"
    assert hold(first) is None


async def test_agents_with_the_same_id_in_other_folders_keep_theirs(
    folder: Path, tmp_path: Path
) -> None:
    other = make(tmp_path / "more" / "echo", requirements_txt="tiny==1.0\n")
    similar = make(tmp_path / "agents" / "echo-two", requirements_txt="tiny==1.0\n")
    await installed(of(other))
    await installed(of(similar))
    await installed(of(make(folder, requirements_txt="tiny==2.0\n")))
    assert of(other).state() == of(similar).state() == "installed"


async def test_the_environments_of_a_server_are_held_until_it_ends(folder: Path) -> None:
    agent = load_agent(make(folder, requirements_txt="tiny==1.0\n"))
    first = of(folder)
    server = Environments(first.path.parent, installs=True)

    async def report(_: str) -> None: ...

    assert server.prepared(agent) is None
    prepared = await server.prepare(agent, report)
    assert prepared.argv == (str(first.python), *agent.argv[1:])
    assert server.prepared(agent) == prepared
    await installed(of(make(folder, requirements_txt="tiny==2.0\n")))
    assert first.state() == "installed"
    server.close()
    await installed(of(make(folder, requirements_txt="tiny\n")))
    assert first.state() == "missing"


# uv


def test_uv_gets_no_secrets(tmp_path: Path) -> None:
    ours = {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "HTTPS_PROXY": "http://proxy",
        "UV_INDEX_COMPANY_PASSWORD": "for the index",
        "UV_PYTHON": "3.9",
        "ANTHROPIC_API_KEY": "sk-1",
        "DATABASE_URL": "postgresql://ann:secret@db/mobox",
        "VIRTUAL_ENV": "/elsewhere",
        "PYTHONPATH": "/elsewhere",
    }
    given = environment_of_uv(tmp_path, ours)
    assert given.keys() & ours.keys() == {
        "PATH", "HOME", "HTTPS_PROXY", "UV_INDEX_COMPANY_PASSWORD",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "http://mirror"), ({"UV_INDEX_URL": "x"}, None), ({"UV_DEFAULT_INDEX": "y"}, "y")],
)
def test_the_index_of_pip_is_used_unless_uv_has_its_own(
    tmp_path: Path, own: dict[str, str], expected: str | None
) -> None:
    given = environment_of_uv(tmp_path, {"PIP_INDEX_URL": "http://mirror", **own})
    assert given.get("UV_DEFAULT_INDEX") == expected


async def test_a_missing_uv_is_explained(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotInstalled, match=r"needs uv, .*pip install '\.\[agents\]'"):
        await installed(of(make(folder, requirements_txt="tiny\n")))


# An end in the middle


@pytest.fixture
def silent_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An index that accepts connections and never answers."""
    for name in ("UV_OFFLINE", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        yield address


def commands_with(text: str) -> dict[int, bytes]:
    """The processes of uv with this in their environment."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if (
                text.encode() in path.read_bytes()
                and b"pip" in path.with_name("cmdline").read_bytes()
            ):
                found[int(path.parent.name)] = path.read_bytes()
    return found


async def test_a_cancelled_install_ends_uv_and_leaves_nothing(
    folder: Path, silent_index: str, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    environment = of(make(folder, requirements_txt="tiny\n"))
    task = asyncio.create_task(installed(environment))
    await until(lambda: commands_with(silent_index))
    assert environment.state() == "installing"
    assert all(b"sk-secret" not in given for given in commands_with(silent_index).values())
    task.cancel()
    await asyncio.wait([task])
    assert commands_with(silent_index) == {}
    assert environment.state() == "missing"
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(index))
    await installed(environment)
    assert version_in(environment) == "2.0"


async def test_what_a_killed_process_leaves_is_not_used_and_not_disturbed(
    folder: Path, silent_index: str, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = of(make(folder, requirements_txt="tiny\n"))
    process = start_install(environment)
    await until(lambda: commands_with(silent_index))
    process.kill()
    process.communicate()
    assert environment.state() == "installing"  # uv has the lock, and may still write
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(index))
    waiting = asyncio.create_task(installed(environment))
    for number in commands_with(silent_index):
        os.kill(number, signal.SIGKILL)
    reported = await waiting
    assert reported[-1].startswith("Installed 1 package in")
    assert version_in(environment) == "2.0"


def test_a_link_that_a_package_left_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    environment = of(make(folder, requirements_txt="tiny\n"))
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    environment.path.mkdir(parents=True)
    (environment.path / "complete.new").symlink_to(victim)
    write_note(environment.path / "complete", {"packages": 1})
    assert victim.read_text() == "theirs"
    assert not (environment.path / "complete").is_symlink()
