"""agent.yaml: what it may say, and how it is told what is wrong with it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from mobox.capture.catalog import (
    Agent,
    Catalog,
    Limits,
    Timeouts,
    WatchedCatalog,
    load_agent,
)
from mobox.capture.process import job_of
from mobox.errors import InvalidAgent, UnknownAgent
from mobox.parsers import frameworks

AGENTS = Path(__file__).parents[2] / "agents"


def make(folder: Path, text: str, name: str = "my-agent", entry: str = "run_agent.py") -> Path:
    agent = folder / name
    agent.mkdir()
    (agent / "agent.yaml").write_text(text, "utf-8")
    (agent / entry).touch()
    return agent


def test_the_documents_file_loads_with_defaults(tmp_path: Path) -> None:
    folder = make(tmp_path, "name: Your Agent\nframework: claude\n# ...\n")
    assert load_agent(folder) == Agent(
        id="my-agent",
        name="Your Agent",
        folder=folder,
        argv=(sys.executable, str(folder / "run_agent.py")),
        is_script=True,
        framework="claude",
        timeouts=Timeouts(idle=300, total=3600),
        limits=Limits(),
    )


def test_an_empty_file_is_an_agent_that_emits(tmp_path: Path) -> None:
    agent = load_agent(make(tmp_path, ""))
    assert (agent.name, agent.framework) == ("my-agent", "emitted")


def test_every_field_is_read(tmp_path: Path) -> None:
    agent = load_agent(
        make(
            tmp_path,
            """
name: Research
description: |
  Looks things up.
framework: emitted
entry: main.py
env: {KEY: , MODEL: m-1, RETRIES: 3, FAST: true}
timeouts: {idle: 12.5, total: 60}
limits: {memory: 512M, open_files: 99, processes: 10, file_size: 2 GiB, output: 1000}
""",
            entry="main.py",
        )
    )
    assert agent.description == "Looks things up."
    assert agent.env == {"KEY": None, "MODEL": "m-1", "RETRIES": "3", "FAST": "true"}
    assert agent.timeouts == Timeouts(idle=12.5, total=60)
    limits = {"memory": 512 << 20, "open_files": 99, "processes": 10, "file_size": 2 << 30}
    assert agent.limits == Limits(**limits, output=1000)
    job = job_of(agent, tmp_path / "state")
    assert (job.folder, job.env) == (agent.folder, agent.env)
    assert job.limits == {**limits, "output": 1000}


def test_agent_may_work_without_a_variable(tmp_path: Path) -> None:
    agent = load_agent(make(tmp_path, "env: [A]\noptional_env: [B]"))
    assert agent.env == {"A": None, "B": None}
    problem = agent.lacks({})
    assert problem is not None and "names A in env" in problem
    assert agent.lacks({"A": "1"}) is None


def test_env_may_be_a_list_of_names(tmp_path: Path) -> None:
    assert load_agent(make(tmp_path, "env: [A, B_2]")).env == {"A": None, "B_2": None}


def test_a_script_is_run_by_the_python_of_its_folder(tmp_path: Path) -> None:
    folder = make(tmp_path, "")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert load_agent(folder).argv[0] == str(python)


def test_entry_other_than_python_is_run_directly(tmp_path: Path) -> None:
    folder = make(tmp_path, "entry: agent.sh", entry="agent.sh")
    assert load_agent(folder).argv == (str(folder / "agent.sh"),)


def test_a_command_may_be_given(tmp_path: Path) -> None:
    folder = make(tmp_path, "entry: [uv, run, python, run_agent.py]")
    assert load_agent(folder).argv == ("uv", "run", "python", "run_agent.py")


def test_emoji_may_be_escaped_as_in_json(tmp_path: Path) -> None:
    folder = make(tmp_path, r'{"icon": "\ud83d\udcc1", "starters": ["\ud83d"]}')
    agent = load_agent(folder)
    assert (agent.icon, agent.starters) == ("📁", ("\ufffd",))


WRONG = {
    "unknown framework": (
        "name: x\nframework: nope\n",
        2,
        "framework",
        f"unknown framework 'nope'; known: {', '.join(frameworks())}",
    ),
    "unknown field": (
        "name: x\n\ntimeout: 3\n",
        3,
        "timeout",
        "unknown field; known: name, description, icon, starters, framework, entry, env,"
        " optional_env, timeouts, limits, warm, models, model, cassette, sandbox, network",
    ),
    "empty starter": ("starters: [Hello, '']\n", 1, "starters[1]", "Expected `str` of length >= 1"),
    "too many spares": ("warm: 5\n", 1, "warm", "Expected `int` <= 4"),
    "unknown inner field": (
        "timeouts:\n  idle: 3\n  toatl: 4\n",
        3,
        "timeouts.toatl",
        "unknown field; known: idle, total",
    ),
    "wrong type": ("name: [1]\n", 1, "name", "Expected `str | null`, got `array`"),
    "wrong inner type": (
        "name: x\ntimeouts:\n  idle: soon\n",
        3,
        "timeouts.idle",
        "Expected `float`, got `str`",
    ),
    "wrong size": (
        "limits:\n  output: 3 apples\n",
        2,
        "limits.output",
        "Expected `int`, got `str`",
    ),
    "out of range": (
        "timeouts:\n  total: 0\n",
        2,
        "timeouts.total",
        "Expected `float` > 0.0",
    ),
    "wrong item": ("env:\n- A\n- 3\n", 3, "env[1]", "Expected `str`, got `int`"),
    "wrong name": ("env:\n  A B: 1\n", 1, "env", "'A B' is not a valid variable name"),
    "empty entry": ("entry: []\n", 1, "entry", "expected a script or a command, got an empty list"),
    "not fields": ("- a\n- b\n", 1, "", "expected fields such as `name: …`"),
    "not YAML": (
        "name: x\nenv: [a\n",
        3,
        "",
        "not YAML: expected ',' or ']', but got '<stream end>'",
    ),
    "a tag": ("name: x\nenv: !!python/name:os.system\n", 2, "", None),
}


@pytest.mark.parametrize(("text", "line", "field", "problem"), WRONG.values(), ids=WRONG)
def test_an_error_names_file_line_and_field(
    tmp_path: Path, text: str, line: int, field: str, problem: str | None
) -> None:
    folder = make(tmp_path, text)
    with pytest.raises(InvalidAgent) as raised:
        load_agent(folder)
    error = raised.value
    assert (error.file, error.line, error.field) == (folder / "agent.yaml", line, field)
    assert problem in (None, error.problem)
    assert str(error).startswith(f"{folder / 'agent.yaml'}:{line}: {field}")


def test_an_entry_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    folder = make(tmp_path, "name: x\nentry: main.py\n")
    with pytest.raises(InvalidAgent, match=r"agent\.yaml:2: entry: there is no file 'main.py' in "):
        load_agent(folder)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    folder = make(tmp_path, "")
    (folder / "agent.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(InvalidAgent, match=r"agent\.yaml:1: cannot be read: "):
        load_agent(folder)


@pytest.mark.parametrize("name", ["My-Agent", "1st", "a_b", "a" * 64, "-a"])
def test_a_folder_whose_name_is_no_id_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidAgent, match=f"cannot be '{name}'"):
        load_agent(make(tmp_path, "", name))


def test_a_wrong_file_keeps_only_its_own_agent_out(tmp_path: Path) -> None:
    make(tmp_path, "name: Z", "zebra")
    make(tmp_path, "name: A", "ant")
    make(tmp_path, "nmae: B", "bee")
    (tmp_path / "no-agent").mkdir()
    catalog = Catalog.load(tmp_path)
    assert [agent.id for agent in catalog] == ["ant", "zebra"]
    assert len(catalog) == 2
    assert [problem.field for problem in catalog.problems] == ["nmae"]


def test_an_unknown_agent_lists_the_known_ones(tmp_path: Path) -> None:
    make(tmp_path, "", "ant")
    catalog = Catalog.load(tmp_path)
    assert catalog.get("ant").id == "ant"
    with pytest.raises(UnknownAgent, match="unknown agent 'bee'; known: ant"):
        catalog.get("bee")


def test_agents_can_be_registered_in_python(tmp_path: Path) -> None:
    agent = Agent(id="mine", name="Mine", folder=tmp_path, argv=("true",))
    assert list(Catalog([agent])) == [agent]


def test_our_own_agents_load() -> None:
    catalog = Catalog.load(AGENTS)
    assert catalog.problems == []
    assert catalog.get("demo").name == "Demo"


# Changes while a server runs


def test_agents_are_loaded_again_when_their_files_change(tmp_path: Path) -> None:
    loaded: list[list[str]] = []
    catalog = WatchedCatalog(tmp_path, lambda fresh: loaded.append([each.id for each in fresh]))
    assert list(catalog) == []
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: One")
    assert list(catalog) == []
    assert "there is no file 'run_agent.py'" in str(catalog.problems[0])
    (folder / "run_agent.py").write_text("")
    assert [each.name for each in catalog] == ["One"]
    assert catalog.problems == []
    (folder / "agent.yaml").write_text("name: Another one")
    assert catalog.get("one").name == "Another one"
    (folder / "agent.yaml").write_text("nmae: One")
    with pytest.raises(UnknownAgent):
        catalog.get("one")
    assert "nmae" in str(catalog.problems[0])
    shutil.rmtree(folder)
    assert (list(catalog), catalog.problems) == ([], [])
    assert loaded == [[], ["one"], ["one"], [], []]
