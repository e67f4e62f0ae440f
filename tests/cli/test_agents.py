"""`mobox agents`: what it lists, creates, installs and finds wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import mobox.cli.agents
from environments.test_environments import make
from mobox.capture.catalog import load_agent
from mobox.cli.agents import FRAMEWORKS
from mobox.environments import environment_of
from server.live_server import mobox as run_mobox
from support.wheels import index

__all__ = ["index"]

ROOT = Path(__file__).parents[2]
TEMPLATES = Path(mobox.cli.agents.__file__).with_name("templates")
NO_KEYS = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "TAVILY_API_KEY"),
    "",
)

each_framework = pytest.mark.parametrize("framework", FRAMEWORKS)


def agents(tmp_path: Path, *arguments: str | Path, **env: str) -> tuple[int, str, str]:
    """Run the command in a folder whose agents are in `agents`."""
    return run_mobox("agents", *arguments, cwd=tmp_path, **{**NO_KEYS, **env})


# list


def test_agents_are_listed_with_their_models_and_packages(tmp_path: Path, index: Path) -> None:
    folder = tmp_path / "agents"
    make(folder / "plain", agent_yaml="name: Plain\n")
    make(folder / "writer", agent_yaml="models: [anthropic, openai]\n", requirements_txt="tiny\n")
    make(folder / "broken", agent_yaml="nme: x\n")
    assert agents(tmp_path, "install")[0] == 0
    make(folder / "other", agent_yaml="framework: claude\n", requirements_txt="tiny\n")
    code, shown, errors = agents(tmp_path, "list", OPENAI_API_KEY="sk-1")
    assert code == 0
    assert shown.splitlines() == [
        "id      name    framework  models                         packages   sandbox  network",
        "other   other   claude                                    missing    process  full",
        "plain   Plain   emitted                                              process  full",
        "writer  writer  emitted    anthropic (simulated), openai  installed  process  model",
    ]
    assert "unknown field" in errors
    code, shown, _ = agents(tmp_path, "list", "--json", OPENAI_API_KEY="sk-1")
    assert json.loads(shown)[2] == {
        "id": "writer",
        "name": "writer",
        "framework": "emitted",
        "models": {"anthropic": "simulated", "openai": "provider"},
        "packages": "installed",
        "sandbox": "process",
        "network": "model",
        "problem": None,
    }


def test_an_agent_without_a_sandbox_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    make(tmp_path / "agents" / "boxed", agent_yaml="sandbox: bubblewrap\nnetwork: none\n")
    path = str(tmp_path / "bin")
    code, shown, errors = agents(tmp_path, "list", PATH=path)
    assert code == 0
    assert shown.splitlines()[1].endswith("bubblewrap (unavailable)  none")
    assert errors == "boxed: bubblewrap is not installed: install the package `bubblewrap`\n"
    code, shown, _ = agents(tmp_path, "check", PATH=path)
    assert code == 1
    assert "problem  its sandbox: bubblewrap is not installed" in shown
    code, _, errors = agents(tmp_path, "list", "--sandbox", "cardboard")
    assert code == 2
    assert "sandbox=cardboard: unknown sandbox; known: auto, bubblewrap" in errors


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    assert agents(tmp_path, "list") == (0, "No agents in agents.\n", "")
    code, _, errors = agents(tmp_path, "list", "--agents", "missing")
    assert (code, errors) == (2, "mobox: agents=missing: no such folder\n")


# new


def test_the_frameworks_are_the_templates() -> None:
    assert sorted(path.name for path in TEMPLATES.iterdir() if path.is_dir()) == list(FRAMEWORKS)


@each_framework
def test_a_new_agent_is_valid(tmp_path: Path, framework: str) -> None:
    code, shown, errors = agents(tmp_path, "new", "my-helper", "--framework", framework)
    assert (code, errors) == (0, "")
    agent = load_agent(tmp_path / "agents" / "my-helper")
    assert f"mobox run my-helper '{agent.starters[0]}'" in shown
    assert agent.name == "My helper"
    assert (agent.folder / "README.md").read_text().startswith("# My helper\n")
    assert "$" not in "".join(path.read_text() for path in agent.folder.glob("*.[ym][ad]*"))
    has_packages = environment_of(agent, tmp_path) is not None
    assert has_packages is (framework != "emitted")


@each_framework
def test_the_packages_of_a_new_agent_are_those_of_the_tests(framework: str) -> None:
    if framework == "emitted":
        assert not (TEMPLATES / framework / "requirements.txt").exists()
        return
    locked = (ROOT / "requirements" / "frameworks.txt").read_text()
    for line in (TEMPLATES / framework / "requirements.txt").read_text().splitlines():
        pinned = re.sub(r"\[.*\]", "", line)
        assert f"\n{pinned} \\\n" in locked


def test_a_new_agent_can_be_in_another_folder(tmp_path: Path) -> None:
    place = tmp_path / "of mine"
    code, shown, _ = agents(tmp_path, "new", "echo", "--framework", "emitted", "--agents", place)
    assert code == 0
    assert f"mobox run --agents '{place}' echo 'Hello there'" in shown
    assert load_agent(place / "echo").id == "echo"


@pytest.mark.parametrize(
    ("name", "framework", "problem"),
    [
        ("My_Agent", "claude", "NAME=My_Agent: expected [a-z]"),
        ("../up", "claude", "NAME=../up: expected [a-z]"),
        ("there", "claude", "NAME=there: agents/there exists already"),
        ("fresh", "crewai", "unknown framework 'crewai'; known: adk, anthropic, claude"),
    ],
)
def test_a_new_agent_that_cannot_be_is_explained(
    tmp_path: Path, name: str, framework: str, problem: str
) -> None:
    make(tmp_path / "agents" / "there", agent_yaml="name: Mine\n")
    code, _, errors = agents(tmp_path, "new", name, "--framework", framework)
    assert code == 2
    assert errors.startswith(f"mobox: {problem}")
    assert [path.name for path in (tmp_path / "agents").iterdir()] == ["there"]
    assert (tmp_path / "agents" / "there" / "agent.yaml").read_text() == "name: Mine\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("a file in its place")
    code, _, errors = agents(tmp_path, "new", "echo", "--framework", "emitted")
    assert (code, errors) == (2, "mobox: agents=agents: Not a directory\n")


# install


def test_all_that_need_it_are_installed(tmp_path: Path, index: Path) -> None:
    for name in ("one", "two"):
        make(tmp_path / "agents" / name, requirements_txt="tiny\n")
    make(tmp_path / "agents" / "bad", requirements_txt="unheard\n")
    make(tmp_path / "agents" / "plain")
    code, shown, errors = agents(tmp_path, "install")
    assert code == 1
    assert errors.startswith("bad: No solution found")
    assert len(re.findall(r"^(one|two): Installed 1 package in", shown, re.MULTILINE)) == 2
    assert "plain" not in shown
    code, shown, errors = agents(tmp_path, "install", "one", "two")
    assert (code, shown, errors) == (0, "one: Is installed.\ntwo: Is installed.\n", "")


def test_an_agent_without_packages_needs_nothing(tmp_path: Path) -> None:
    make(tmp_path / "agents" / "plain")
    nothing = "Nothing to install: no agent lists packages.\n"
    assert agents(tmp_path, "install") == (0, nothing, "")
    assert agents(tmp_path, "install", "plain") == (0, nothing, "")
    code, _, errors = agents(tmp_path, "install", "other")
    assert (code, errors) == (2, "mobox: unknown agent 'other'; known: plain\n")


# check


def findings(tmp_path: Path, *ids: str, **env: str) -> tuple[int, list[str]]:
    code, shown, errors = agents(tmp_path, "check", *ids, **env)
    assert errors == ""
    return code, shown.splitlines()


def test_an_agent_without_problems_passes(tmp_path: Path, index: Path) -> None:
    code = "import json, tiny\nfrom shared.emitter import read_turn\nimport rest\n"
    make(
        tmp_path / "agents" / "echo",
        agent_yaml="models: [openai, tavily]\n",
        requirements_txt="tiny\n",
        run_agent_py=code,
        rest_py="raise SystemExit('it was run')\n",
    )
    agents(tmp_path, "install")
    assert findings(tmp_path) == (
        0,
        [
            "echo",
            "  ok       agent.yaml is valid; framework: emitted",
            "  ok       sandbox: process; network: model",
            "  note     model openai: simulated; set OPENAI_API_KEY, or put it into .env",
            "  note     model tavily: no key; set TAVILY_API_KEY, or put it into .env",
            "  ok       the packages of requirements.txt are installed",
            "  ok       run_agent.py compiles; it can import tiny, shared",
        ],
    )
    code_with_key, lines = findings(tmp_path, "echo", OPENAI_API_KEY="sk-1")
    assert (code_with_key, lines[3]) == (0, "  ok       model openai: provider")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"agent_yaml": "nme: x\n"}, "unknown field"),
        ({"agent_yaml": "models: [gpt]\n"}, "unknown model 'gpt'"),
        ({"agent_yaml": "env: [NOT_THERE]\n"}, "has no value for it: set it where you start"),
        ({"requirements_txt": "tiny\n"}, "are not installed: mobox agents install echo"),
        ({"run_agent_py": "def (:\n"}, "run_agent.py: run_agent.py, line 1: invalid syntax"),
        (
            {"run_agent_py": "import rest\n", "rest_py": "if x\n"},
            "run_agent.py: rest.py, line 1: expected ':'",
        ),
        (
            {"run_agent_py": "from shared.emitter import x\nimport no_such_thing.at_all\n"},
            "no_such_thing.at_all cannot be imported: ModuleNotFoundError",
        ),
        (
            {"run_agent_py": "from shared.frameworks.claude import run\n"},
            "shared.frameworks.claude cannot be imported: UnsupportedSdk: claude-agent-sdk is not"
            " installed; claude-agent-sdk>=0.2.182,<0.3 is needed",
        ),
        (
            {"run_agent_py": "import rest.inner\n", "requirements_txt": None},
            "rest.inner cannot be imported",
        ),
    ],
)
def test_a_problem_is_found(tmp_path: Path, files: dict[str, str | None], problem: str) -> None:
    given = {name: text for name, text in files.items() if text is not None}
    make(tmp_path / "agents" / "echo", **given)
    make(tmp_path / "agents" / "good")
    code, lines = findings(tmp_path)
    assert code == 1
    [found] = [line for line in lines if line.startswith("  problem")]
    assert problem in found
    assert findings(tmp_path, "good")[0] == 0
    assert findings(tmp_path, "echo")[0] == 1


def test_a_problem_is_one_line(tmp_path: Path, index: Path) -> None:
    make(tmp_path / "agents" / "echo", run_agent_py="import tiny\n", requirements_txt="tiny==2.0\n")
    agents(tmp_path, "install")
    (module,) = tmp_path.glob(".mobox/environments/*/lib/*/site-packages/tiny.py")
    module.write_text("raise ImportError('not for\\n\\n  this machine')\n")
    _, lines = findings(tmp_path)
    assert lines[-1].endswith("tiny cannot be imported: ImportError: not for this machine")


def test_a_failed_install_is_a_problem(tmp_path: Path, index: Path) -> None:
    make(tmp_path / "agents" / "echo", requirements_txt="unheard\n")
    agents(tmp_path, "install")
    code, lines = findings(tmp_path)
    assert code == 1
    assert "packages could not be installed: No solution found" in lines[-1]
    assert lines[-1].endswith("; repeat: mobox agents install echo")


def test_an_agent_that_is_a_command_is_not_compiled(tmp_path: Path) -> None:
    make(tmp_path / "agents" / "echo", agent_yaml="entry: [sh, -c, exit]\n")
    note = "  note     its entry is a command, which is not checked"
    assert findings(tmp_path)[1][-1] == note
