"""The script language: reading files, errors with line and field, and choosing a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mobox.errors import InvalidScript
from mobox.models.simulator import (
    Cut,
    Fail,
    Page,
    Refuse,
    Scenario,
    Script,
    ServerTool,
    Stall,
    Step,
    Text,
    Think,
    Tool,
    Usage,
    load_script,
    parse_script,
)
from models.simulator.scenarios import SCENARIOS


def test_steps_of_a_file() -> None:
    script = parse_script("""
scenarios:
  a:
    - [{think: Hm.}, {text: Hi.}, {tool: {name: f, input: {x: 1}}}]
    - [{fail: 429}]
  b:
    when: bees
    turns:
      - [{think: {text: "", redacted: true}}, {stall: true}]
default: a
pace: 0
""")
    assert script.scenario("a") == Scenario(
        [[Think("Hm."), Text("Hi."), Tool("f", {"x": 1})], [Fail(429)]]
    )
    assert script.scenario("b") == Scenario([[Think("", True), Stall()]], "bees")
    assert (script.default, script.pace) == ("a", 0)


def test_json_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('{"scenarios": {"a": [[{"refuse": true}, {"usage": {"input": 3}}]]}}')
    (turn,) = load_script(file).scenario("a").turns
    assert turn[0] == Refuse()


ERRORS = [
    ("scenarios: [", "1: not YAML"),
    ("- a", "1: expected fields such as `scenarios: …`"),
    ("default: a", "1: Object missing required field `scenarios`"),
    ("scenarios:\n  a:\n    - - txt: Hi", "3: scenarios.a[0][0].txt: unknown field; known: think,"),
    ("scenarios:\n  a:\n    - - tool: {nam: f}", "3: scenarios.a[0][0].tool.nam: unknown field"),
    ("scenarios:\n  a:\n    - - text: Hi\n      - text: 3", "4: scenarios.a[0][1].text: Expected"),
    ("scenarios:\n  a:\n    - - fail: 200", "3: scenarios.a[0][0].fail: Expected `int` >= 400"),
    ("scenarios:\n  a:\n    - - cut: false", "3: scenarios.a[0][0].cut: expected `true`"),
    (
        "scenarios:\n  a:\n    - - {text: a, cut: true}",
        "3: scenarios.a[0][0]: a step has one field",
    ),
    ("scenarios:\n  a:\n    - []", "3: scenarios.a[0]: a turn has at least one step"),
    ("scenarios:\n  a:\n    - - cut: true\n      - text: b", "4: scenarios.a[0][1]: nothing can"),
    ("scenarios: {}\ndefault: b", "2: default: there is no scenario 'b'"),
    ("scenarios:\n  a: {turn: []}", "2: scenarios.a"),
]


@pytest.mark.parametrize(("text", "problem"), ERRORS)
def test_errors_name_line_and_field(text: str, problem: str) -> None:
    with pytest.raises(InvalidScript) as raised:
        parse_script(text, "s.yaml")
    assert str(raised.value).startswith(f"s.yaml:{problem}")


def test_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidScript, match=r"none\.yaml:1: cannot be read"):
        load_script(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("[[a]] Hi", "a"),
        ("Say [[b x-1]] now", "b"),
        ("See [[other]]", "c"),
        ("See [[other]] about bees", "b"),
        ("About bees", "b"),
        ("a [[1]] b", "c"),
        ("", "c"),
    ],
)
def test_choice_of_a_scenario(first: str, name: str) -> None:
    script = Script(
        {"a": [[Text("a")]], "b": Scenario([[Text("b")]], when="bees"), "c": [[Cut()]]}, "c"
    )
    assert script.choose(first) == name


def test_without_a_default_an_unknown_marker_is_kept_for_the_error() -> None:
    assert Script({"a": [[Text("a")]]}).choose("[[b]]") == "b"


def test_without_scenarios_markers_mean_nothing() -> None:
    assert Script().choose("[[a]]") is None


def test_a_written_script_is_read_back() -> None:
    script = parse_script(SCENARIOS)
    assert parse_script(yaml.safe_dump(script.document())) == script


@pytest.mark.parametrize(
    "step",
    [
        Think("", redacted=True),
        Fail(429, retry_after=0, times=0),
        Fail(500),
        Stall(0),
        Stall(),
        Refuse(""),
        Refuse(),
        Tool("f"),
        ServerTool("web_search", "", [Page("https://example.org")]),
        Usage(input=0),
    ],
    ids=repr,
)
def test_a_written_step_is_read_back(step: Step) -> None:
    script = Script({"a": Scenario([[step]])})
    assert parse_script(yaml.safe_dump(script.document())) == script
