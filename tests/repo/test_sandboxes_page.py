"""The page about sandboxes names the limits, modes, codes and names that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from mobox.agent_path.shared.failure_codes import CODES
from mobox.capture.catalog import load_agent
from mobox.capture.execution import _EXCESSES
from mobox.egress import VARIABLES
from mobox.egress.access import PORT
from mobox.sandbox import NetworkMode
from mobox.sandbox.bubblewrap import OUTER_USER
from mobox.sandbox.hosts import parse_hosts
from mobox.sandbox.limits import LIMITS
from mobox.supervisor.sandboxes import names

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "sandboxes.md").read_text()
YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    _, _, rest = PAGE.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """The code in the first cell of each row."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def shown(value: int) -> str:
    return f"{value >> 30} GiB" if value >= 1 << 30 else str(value)


def test_every_registered_sandbox_is_described() -> None:
    described = first_cells(PAGE.partition("\n## ")[0])
    assert set(names()) <= set(described)


@pytest.mark.parametrize("block", YAML.findall(PAGE))
def test_each_example_is_a_valid_agent(block: str, tmp_path: Path) -> None:
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "agent.yaml").write_text(block)
    (folder / "run_agent.py").touch()
    assert load_agent(folder).name == yaml.safe_load(block)["name"]


def test_there_are_examples() -> None:
    assert YAML.findall(PAGE)


def test_the_defaults_of_limits_are_those_of_the_code() -> None:
    table = section("Limits")
    for name, value in LIMITS.items():
        if name == "files":
            assert f"at most {value} files" in table
        else:
            assert f"| `{name}` | {shown(value)}" in table, name


def test_every_mode_of_the_network_and_every_kind_of_entry_is_described() -> None:
    named = first_cells(section("Network"))
    modes = ["[hosts]" if mode == "hosts" else mode for mode in get_args(NetworkMode)]
    assert named[: len(modes) + 1] == ["network", *modes]
    parse_hosts(named[len(modes) + 1 :])
    for variable in VARIABLES[:3]:
        assert f"`{variable}`" in section("Network")
    assert PORT not in (80, 443)


def test_the_codes_exist_and_are_also_in_the_table_of_events() -> None:
    codes = first_cells(PAGE.partition("### Error codes\n")[2].partition("\n## ")[0])
    assert set(codes) - {"code"} == {each.code for each in _EXCESSES.values()} | {
        "sandbox_unavailable"
    }
    events = (DOCS / "events.md").read_text()
    for code in codes:
        assert code in CODES
        assert f"`{code}`" in events


def test_the_user_of_a_server_that_is_root_is_named() -> None:
    assert f"user {OUTER_USER}" in section("A server that is root")
