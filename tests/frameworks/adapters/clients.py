"""The bare clients in the matrix: their agents are the tool loops of their pages in docs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from frameworks.matrix import Adapter, Provider, faults, image, two_turns
from frameworks.scripted_anthropic import scripted_anthropic
from frameworks.scripted_gemini import scripted_gemini
from frameworks.scripted_openai import scripted_openai
from frameworks.stage import Stage

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```python (\S+)(?: (\w+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)

SCENARIOS_OF_CLIENTS = (two_turns, image, faults)
"""Approvals, memory and stopping are the author's."""


@dataclass(frozen=True)
class Client(Adapter):
    page: str = ""
    loop: str = "tools"
    """Which of the page's agents is tested."""

    def block(self, file: str, which: str = "") -> str:
        """A block of the page, by the file that it is and its name."""
        text = (DOCS / self.page).read_text("utf-8")
        blocks = {(name, agent): str(code) for name, agent, code in BLOCK.findall(text)}
        return blocks[file, which]

    def stage(self, folder: Path, python: Path, provider: Provider) -> Stage:
        return self.stage_of(self.loop, folder, python, provider)

    def stage_of(self, which: str, folder: Path, python: Path, provider: Provider) -> Stage:
        """A server with one of the page's agents."""
        agent = {"framework": self.framework, "entry": [str(python), "run_agent.py"]}
        files = {"run_agent.py": self.block("run_agent.py", which)}
        return Stage(folder, files, {**agent, "env": self.environment(provider)})

    def environment(self, provider: Provider) -> dict[str, str]:
        return {"NO_PROXY": "127.0.0.1", self.base_url: provider.url, **self.env}


ANTHROPIC = Client(
    name="anthropic",
    framework="claude",
    folder="anthropic",
    provider=scripted_anthropic,
    base_url="ANTHROPIC_BASE_URL",
    env={"ANTHROPIC_API_KEY": "sk-ant-none"},
    page="anthropic.md",
)
OPENAI = Client(
    name="openai, chat completions",
    framework="openai",
    folder="openai",
    provider=scripted_openai,
    base_url="OPENAI_BASE_URL",
    env={"OPENAI_API_KEY": "none"},
    page="openai.md",
)
RESPONSES = Client(
    name="openai, Responses",
    framework="openai",
    folder="responses",
    provider=scripted_openai,
    base_url="OPENAI_BASE_URL",
    env={"OPENAI_API_KEY": "none"},
    page="openai.md",
    loop="responses",
)
GEMINI = Client(
    name="google-genai",
    framework="gemini",
    folder="gemini",
    provider=scripted_gemini,
    base_url="GOOGLE_GEMINI_BASE_URL",
    env={"GEMINI_API_KEY": "none"},
    page="gemini.md",
)
CLIENTS = (ANTHROPIC, OPENAI, RESPONSES, GEMINI)
