"""docs/models.md: its files are valid, and its tables name everything."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from mobox.capture.catalog import Catalog
from mobox.models.config import read_config
from mobox.models.providers import PROVIDERS
from mobox.server.metrics import Registry
from mobox.server.models import call_metrics

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml ?(\S*)\n(.*?)^```", PAGE, re.M | re.S)


def test_the_settings_are_valid(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("scenarios: {a: [[{text: Hi}]]}\n")
    file = tmp_path / "models.yaml"
    settings = [text for name, text in BLOCKS if name in ("", "models.yaml")]
    assert len(settings) == 3
    fields = {key: value for text in settings for key, value in yaml.safe_load(text).items()}
    assert fields.keys() == {"models", "simulator", "budgets", "prices", "windows"}
    file.write_text(yaml.safe_dump(fields))
    config = read_config(file, {"WEATHER_API_KEY": "k"})
    assert config.key_of(config.providers["weather"]) == "k"
    assert config.script is not None


def test_the_agents_are_valid(tmp_path: Path) -> None:
    agents = [text for name, text in BLOCKS if name == "agents/writer/agent.yaml"]
    assert len(agents) == 2
    for number, text in enumerate(agents):
        folder = tmp_path / f"a{number}"
        folder.mkdir()
        (folder / "agent.yaml").write_text(text)
        (folder / "run_agent.py").touch()
        (folder / "tape.jsonl").touch()
    catalog = Catalog.load(tmp_path)
    assert catalog.problems == []
    assert [agent.models for agent in catalog] == [("openai",), ("anthropic",)]


def test_the_variables_of_each_provider_are_named() -> None:
    for name, provider in PROVIDERS.items():
        (row,) = re.findall(rf"^\| `{name}`.*? \| (`\w+_BASE.*)\|$", PAGE, re.M)
        named = set(re.findall(r"`(\w+)`", row))
        assert named == {*provider.url_variables, *provider.token_variables}


def test_the_metrics_are_named() -> None:
    registry = Registry()
    call_metrics(registry)
    there_are = set(re.findall(r"^# TYPE (\w+)", registry.render().decode(), re.M))
    assert there_are == set(re.findall(r"^\| `(mobox_model_\w+)`", PAGE, re.M))
