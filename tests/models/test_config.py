"""The settings of models: each mistake is named by its line and its field."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobox.capture.catalog import Agent, Catalog, load_agent
from mobox.errors import InvalidAgent, InvalidScript, InvalidSetting
from mobox.models.config import ModelsConfig, load_config, read_config
from mobox.models.dotenv import read_dotenv
from mobox.models.providers import PROVIDERS
from mobox.models.windows import window_of
from mobox.settings import Settings


def config(tmp_path: Path, text: str, **environment: str) -> ModelsConfig:
    file = tmp_path / "models.yaml"
    file.write_text(text)
    return read_config(file, environment)


def test_named_upstreams(tmp_path: Path) -> None:
    found = config(
        tmp_path,
        "models:\n"
        "  ollama: {url: 'http://127.0.0.1:11434/v1/'}\n"
        "  tavily: {url: 'https://t.example', key: T, send_key: X-Key, format: http,"
        " paths: [POST /search]}\n"
        "  openai: {key: OTHER}\n"
        "budgets: {owner: {cost_usd: 2.5}}\n"
        "prices: {llama: {input: 1, output: 2}}\n"
        "windows: {llama: 131072}\n",
        T="secret",
        OTHER="own",
    )
    ollama, tavily, openai = (found.providers[name] for name in ("ollama", "tavily", "openai"))
    assert (found.url_of(ollama), found.key_of(ollama)) == ("http://127.0.0.1:11434/v1", None)
    assert ollama.allows("POST", "/chat/completions")
    assert not ollama.allows("GET", "/responses/r_1")
    assert (found.key_of(tavily), tavily.send_key) == ("secret", "x-key")
    assert tavily.allows("POST", "/search")
    assert not tavily.allows("POST", "/searches")
    assert not tavily.allows("GET", "/search")
    assert found.key_of(openai) == "own"
    assert found.is_simulated(found.providers["anthropic"])
    assert not found.is_simulated(ollama)
    assert found.budgets.owner.cost_usd == 2.5
    assert found.prices["llama"].output == 2
    assert window_of("llama-4", found.windows) == 131_072
    assert window_of("gpt-4.1-mini", found.windows) == 1_047_576
    assert window_of("nobody-knows", found.windows) is None


WRONG = {
    "models:\n  x: {}\n": "models.yaml:2: models.x: expected its address",
    "models:\n  x: {url: ftp://a}\n": "models.yaml:2: models.x.url: expected an address",
    "models:\n  x: {url: 'http://a:b@c'}\n": "without a name, a password",
    "models:\n  X: {url: 'http://a'}\n": "models.X: cannot be called 'X'",
    "models:\n  x:\n    url: http://a\n    key: sk-123\n": "models.yaml:4: models.x.key: expected "
    "the name of a variable, not a key",
    "models:\n  x: {url: 'http://a', format: http}\n": "expected the requests that agents may send",
    "models:\n  x: {url: 'http://a', format: http, paths: [search]}\n": "expected a method",
    "models:\n  x: {url: 'http://a', paths: [POST /x]}\n": "only with `format: http`",
    "models:\n  x: {url: 'http://a', send_key: 'a b'}\n": "expected bearer or the name of a header",
    "models:\n  openai: {format: http}\n": "openai has its own format and paths",
    "budgets:\n  owner:\n    tokens: 0\n": "models.yaml:3: budgets.owner.tokens",
    "bugdets: {}\n": "unknown field; known: models, simulator, budgets, prices",
    "budgets:\n  run: {}\n": "models.yaml:2: budgets.run: unknown field; known: agent, owner",
    "models: [a]\n": "models.yaml:1: models",
    "models:\n  a: {url: 'http://a'}\n  b: {url: 3}\n": "models.yaml:3: models.b.url: Expected",
    "prices:\n  a: {inptu: 3}\n": "models.yaml:2: prices.a.inptu: unknown field; known: input,",
    "simulator: {}\n": "models.yaml:1: simulator: Object missing required field `script`",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        config(tmp_path, text)
    assert WRONG[text] in str(raised.value)


def test_simulated_providers_may_have_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("scenarios: {a: [[{text: Hi}]]}\ndefault: a\n")
    found = config(tmp_path, "simulator: {script: script.yaml}\n")
    assert found.script is not None
    assert found.script.default == "a"
    script.write_text("scenarios:\n  a: [[{txt: Hi}]]\n")
    with pytest.raises(InvalidScript, match=r"script.yaml:2: scenarios.a\[0\]\[0\].txt: unknown"):
        config(tmp_path, "simulator: {script: script.yaml}\n")


def test_the_files_beside_the_server_are_found(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=of-the-file\nANTHROPIC_API_KEY=of-the-file\n")
    (tmp_path / "models.yaml").write_text("models: {local: {url: 'http://a/v1'}}\n")
    environment = {"OPENAI_API_KEY": "of-the-environment"}
    found = load_config(Settings(beside=tmp_path), environment)
    assert found.key_of(found.providers["openai"]) == "of-the-environment"
    assert found.key_of(found.providers["anthropic"]) == "of-the-file"
    assert "local" in found.providers
    inside = load_config(Settings(), environment)
    assert inside.key_of(inside.providers["anthropic"]) is None, "a program has its own files"
    assert "local" not in inside.providers
    with pytest.raises(InvalidSetting, match="no such file"):
        load_config(Settings(models=tmp_path / "other.yaml"))


def test_lines_of_a_dotenv_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        'A=1\nexport B = "x # y\\n" # c\nC=\'q"#\'\nD=\nE=sk-1#2\nF=sk 1 # c\n# z\n\nG=a=b==\n'
    )
    expected = {"A": "1", "B": "x # y\n", "C": 'q"#', "D": "", "E": "sk-1#2", "F": "sk 1"}
    assert read_dotenv(file) == {**expected, "G": "a=b=="}
    file.write_text('A=1\nB="secret\n')
    with pytest.raises(InvalidSetting) as raised:
        read_dotenv(file)
    assert ".env:2" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_an_agent_names_models_that_exist(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "run_agent.py").touch()
    (folder / "agent.yaml").write_text("name: A\nmodels:\n  - anthropic\n  - local\n")
    with pytest.raises(InvalidAgent, match=r"agent.yaml:4: models\[1\]: unknown model 'local'"):
        load_agent(folder)
    [agent] = Catalog.load(tmp_path, (*PROVIDERS, "local"))
    assert agent.models == ("anthropic", "local")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model: recorded\n", "belong together"),
        ("cassette: c.jsonl\n", "belong together"),
        ("models: [openai]\nmodel: recorded\ncassette: c.jsonl\n", "there is no file 'c.jsonl'"),
        ("model: recorded\ncassette: agent.yaml\n", "name the recorded providers"),
        ("limits: {tokens: 0}\n", "limits.tokens"),
        ("limits: {cost_usd: -1}\n", "limits.cost_usd"),
    ],
)
def test_a_mistake_of_an_agent_is_named(tmp_path: Path, text: str, problem: str) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "run_agent.py").touch()
    (folder / "agent.yaml").write_text(text)
    with pytest.raises(InvalidAgent) as raised:
        load_agent(folder)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("env", "ours", "is_own"),
    [
        ({}, {"ANTHROPIC_API_KEY": "k"}, False),
        ({"ANTHROPIC_API_KEY": None}, {"ANTHROPIC_API_KEY": "k"}, True),
        ({"ANTHROPIC_API_KEY": None}, {}, False),
        ({"ANTHROPIC_API_KEY": "k"}, {}, True),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "t"}, {}, True),
        ({"ANTHROPIC_BASE_URL": "http://a"}, {}, True),
    ],
)
def test_an_agent_with_its_own_key_does_not_need_the_gateway(
    env: dict[str, str | None], ours: dict[str, str], is_own: bool
) -> None:
    agent = Agent(id="a", name="A", env=env)
    assert PROVIDERS["anthropic"].is_own(agent.env, ours) is is_own
