"""An assistant on the Claude Agent SDK that works with the files of its chat.

It reads there as it likes. A person is asked before it writes a file, runs a command, or reads
anything else. Two subagents work for it: a researcher, and a reviewer.
"""

import os
import shutil
from pathlib import Path

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions
from shared.frameworks.claude import run

HERE = Path(__file__).resolve().parent
READ = ["Read", "Glob", "Grep"]
SUBAGENTS = {
    "researcher": AgentDefinition(
        description="Searches the web and reports with sources. Use it for questions about facts.",
        prompt=(HERE / "prompts" / "researcher.txt").read_text("utf-8"),
        tools=["WebSearch", *READ],
        model="inherit",
    ),
    "reviewer": AgentDefinition(
        description="Reads a file and says what is wrong or missing. Use it after writing one.",
        prompt=(HERE / "prompts" / "reviewer.txt").read_text("utf-8"),
        tools=READ,
        model="inherit",
    ),
}


def options(turn):
    """The options of one turn; the chat's folder is there only with the turn."""
    folder = Path(os.environ["MOBOX_STATE"]) / "files"
    if not folder.exists():
        shutil.copytree(HERE / "files", folder)
    return ClaudeAgentOptions(
        model=os.environ.get("MODEL") or None,
        system_prompt=(HERE / "prompts" / "assistant.txt").read_text("utf-8"),
        cwd=folder,
        agents=SUBAGENTS,
        tools=[*READ, "Write", "Edit", "Bash", "WebSearch", "TodoWrite", "Agent"],
        allowed_tools=["WebSearch", "TodoWrite", "Agent"],
        thinking={"type": "adaptive"},
        setting_sources=[],
        verbatim_prompts=True,
        env={
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_TASKS": "0",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        },
    )


run(options)
