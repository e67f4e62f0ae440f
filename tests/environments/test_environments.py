"""Which environment an agent has: by its files and the Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobox.capture.catalog import load_agent
from mobox.environments import Environment, environment_of, install_command


def make(folder: Path, **files: str) -> Path:
    """An agent with these files; `_` is a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"agent_yaml": "", "run_agent_py": "", **files}.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)
    return folder


def of(folder: Path) -> Environment | None:
    return environment_of(load_agent(folder), folder.parent / "environments")


def name_of(folder: Path) -> str:
    found = of(folder)
    assert found is not None
    return found.path.name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "agents" / "echo"


def test_an_agent_without_a_list_of_packages_has_none(folder: Path) -> None:
    assert of(make(folder)) is None


def test_the_name_has_the_id_and_a_hash_of_the_file(folder: Path) -> None:
    first = name_of(make(folder, requirements_txt="tiny==1.0\n"))
    assert first.startswith("echo-")
    assert name_of(make(folder)) == first
    assert name_of(make(folder, requirements_txt="tiny==2.0\n")) != first


def test_included_files_are_part_of_the_hash(folder: Path) -> None:
    text = "-r more.txt\n--constraint=limits.txt\ntiny\n"
    make(folder, requirements_txt=text, more_txt="big\n", limits_txt="tiny<2\n")
    names = {name_of(folder)}
    names.add(name_of(make(folder, more_txt="big==1.0\n")))
    names.add(name_of(make(folder, limits_txt="tiny<3\n")))
    assert len(names) == 3


def test_files_that_include_each_other_are_read_once(folder: Path) -> None:
    assert name_of(make(folder, requirements_txt="-r a.txt\n", a_txt="-r requirements.txt\n"))


def test_the_most_exact_file_counts(folder: Path) -> None:
    def source() -> str:
        found = of(folder)
        return "" if found is None else found.source

    make(folder, pyproject_toml="[tool.ruff]\nline-length = 100\n")
    assert source() == ""
    make(folder, pyproject_toml='[project]\nname = "echo"\nversion = "1"\n')
    assert source() == "pyproject.toml"
    make(folder, requirements_txt="tiny\n")
    assert source() == "requirements.txt"
    make(folder, uv_lock="version = 1\n")
    assert source() == "uv.lock"


def test_an_agent_with_its_own_python_has_none(folder: Path) -> None:
    make(folder, requirements_txt="tiny\n", agent_yaml="entry: [uv, run, run_agent.py]\n")
    assert of(folder) is None
    make(folder, agent_yaml="")
    assert of(folder) is not None
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").touch()
    assert of(folder) is None


def test_the_command_names_folders_that_are_not_the_usual_ones(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = load_agent(make(folder, requirements_txt="tiny\n"))
    usual = environment_of(agent, tmp_path / ".mobox" / "environments")
    other = environment_of(agent, tmp_path / "env s")
    assert usual is not None
    assert other is not None
    monkeypatch.chdir(tmp_path)
    assert install_command(usual) == "mobox agents install echo"
    assert install_command(other) == f"mobox agents install echo --environments '{tmp_path}/env s'"
    monkeypatch.chdir(folder)
    assert install_command(usual) == (
        f"mobox agents install echo --agents {folder.parent}"
        f" --environments {tmp_path}/.mobox/environments"
    )
