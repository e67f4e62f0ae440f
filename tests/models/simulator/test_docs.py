"""docs/sim.md: its scripts and commands work, its tables name everything.

tests/repo/test_docs.py runs its Python.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from mobox.capture.catalog import load_agent
from mobox.cli.sim import INTRO, KEY
from mobox.events import Done
from mobox.models.simulator import parse_script
from mobox.models.simulator.script import StepLine
from models.simulator.asking import WIRES, Wire, ask
from models.simulator.stored import SAID, stored_run
from server.live_server import mobox

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "sim.md").read_text("utf-8")
FILES = dict(re.findall(r"^```yaml (\S+)\n(.*?)^```", PAGE, re.M | re.S))
SHELL = re.findall(r"^```bash\n(.*?)^```", PAGE, re.M | re.S)
COMMANDS = [line for block in SHELL for line in block.splitlines() if line.startswith("mobox")]
EXPORTS = [line for block in SHELL for line in block.splitlines() if line.startswith("export")]


def table(heading: str) -> set[str]:
    """The words in the first column of the first table below a heading."""
    below = PAGE.partition(heading)[2]
    found = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", below, re.M)
    assert found is not None
    first = [row.split("|")[1] for row in found[1].splitlines()]
    return set(re.findall(r"`([\w-]+)", "\n".join(first)))


def test_commands_are_valid(tmp_path: Path) -> None:
    run_id = stored_run(tmp_path, [*SAID, Done(reason="stop")])
    (tmp_path / "script.yaml").write_text(FILES["script.yaml"])
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        words = shlex.split(command.partition(">")[0], comments=True)[1:]
        words = [run_id if word == "RUN" else word for word in words]
        words += [] if "--print" in words else ["--print"]
        code, printed, errors = mobox(*words, cwd=tmp_path, MOBOX_DATA=str(tmp_path))
        assert (code, errors) == (0, ""), command
        if "--run" in words:
            assert "It is warm." in printed
            parse_script(printed)


def test_variables_are_those_that_it_prints() -> None:
    intro = INTRO.format(url="http://127.0.0.1:8790", key=KEY, about="")
    assert [line.strip() for line in intro.splitlines() if "export" in line] == EXPORTS
    assert EXPORTS


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_script_answers(wire: Wire) -> None:
    script = parse_script(FILES["script.yaml"])
    for prompt, text in (("Hello", "I will look."), ("[[weather]]", "I will look.")):
        assert text in (await ask(wire, wire.body(prompt), script)).text
    assert (await ask(wire, wire.body("[[busy]] Go"), script)).status_code in (503, 529)
    assert script.choose("When does the train leave?") == "lost"
    assert "I will look." in (await ask(wire, wire.body("[[other]]"), script)).text
    without = replace(script, default=None)
    assert (await ask(wire, wire.body("[[other]]"), without)).status_code == 400


def test_agent_file_is_valid(tmp_path: Path) -> None:
    folder = tmp_path / "weather"
    folder.mkdir()
    (folder / "agent.yaml").write_text(FILES["agent.yaml"])
    (folder / "run_agent.py").write_text("")
    env = dict(load_agent(folder).env)
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8790"
    assert env["ANTHROPIC_API_KEY"] == KEY


def test_every_step_is_described() -> None:
    assert table("### Steps") == set(StepLine.__struct_fields__)
    rest = {"wait", "server_tool"}  # not sent; named by its two tools
    assert set(StepLine.__struct_fields__) - rest <= table("### What becomes of a step")


def test_every_option_is_described() -> None:
    _, told, _ = mobox("sim", "--help")
    options = set(re.findall(r"^  (--[\w-]+)", told, re.M))
    assert table("# A simulated model") == options
    assert len(options) > 8
