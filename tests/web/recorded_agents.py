"""Agents that play recordings, so that a real server serves any framework."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

__all__ = ["FRAMEWORKS", "write_agents"]

RECORDINGS = Path(__file__).parent.parent / "recordings"
FRAMEWORKS = ("smolagents", "claude", "openai")

RUN_AGENT = """
    import json
    import sys
    from pathlib import Path

    turn = json.loads(sys.stdin.readline())  # not with the emitter, which would take over stdout
    name = turn["data"]["prompt"][0]["text"]
    recording = Path(__file__).parent / "recordings" / f"{name}.jsonl"
    sys.stdout.write(recording.read_text("utf-8"))
"""


def write_agents(folder: Path) -> Path:
    """One agent for each framework; it plays the recording that its prompt names."""
    for framework in FRAMEWORKS:
        agent = folder / framework
        shutil.copytree(RECORDINGS / framework, agent / "recordings")
        (agent / "agent.yaml").write_text(f"name: {framework}\nframework: {framework}\n")
        (agent / "run_agent.py").write_text(textwrap.dedent(RUN_AGENT))
    return folder
