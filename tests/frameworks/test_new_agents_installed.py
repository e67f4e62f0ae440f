"""The packages that a new agent lists are enough: its first message installs them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cli.test_agents import NO_KEYS, agents, each_framework
from frameworks.test_new_agents import QUESTION, answer_of
from server.live_server import MOBOX, clean_environment

LONGEST = 600


@each_framework
def test_a_new_agent_installs_what_it_needs(tmp_path: Path, framework: str) -> None:
    assert agents(tmp_path, "new", "mine", "--framework", framework)[0] == 0
    done = subprocess.run(
        [*MOBOX, "run", "mine", QUESTION],
        cwd=tmp_path,
        env=clean_environment(**NO_KEYS),
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert done.returncode == 0, done.stderr
    assert answer_of(framework) in done.stdout
    has_packages = (tmp_path / "agents" / "mine" / "requirements.txt").exists()
    assert list((tmp_path / ".mobox" / "environments").glob("mine-*/complete")) or not has_packages
