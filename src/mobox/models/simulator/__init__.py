"""A simulated model: answers as Anthropic's, OpenAI's and Google's APIs do, without a key.

`simulator()` is the ASGI app; docs/sim.md describes the script language.
"""

from __future__ import annotations

from mobox.models.simulator.app import simulator
from mobox.models.simulator.from_log import from_log
from mobox.models.simulator.script import (
    Cite,
    Cut,
    Fail,
    File,
    MaxTokens,
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
    Wait,
)
from mobox.models.simulator.script_file import load_script, parse_script

__all__ = [
    "Cite", "Cut", "Fail", "File", "MaxTokens", "Page", "Refuse", "Scenario", "Script",
    "ServerTool", "Stall", "Step", "Text", "Think", "Tool", "Usage", "Wait",
    "from_log", "load_script", "parse_script", "simulator",
]  # fmt: skip
