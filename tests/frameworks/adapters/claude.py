"""The Claude Agent SDK in the matrix."""

from __future__ import annotations

from frameworks.matrix import Adapter
from frameworks.scripted_anthropic import Block, Item, call, scripted_anthropic

OFFLINE = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
"""What lets the program talk to nobody but the provider, and report an error at once."""

ADDED = ("<system-reminder>", "# Environment", "[Request interrupted by user")
"""The first words of what the program itself adds to a conversation."""


def _to_subagent(task: str) -> Block:
    return call("call_2", "Agent", description="Help", prompt=task, subagent_type="helper")


def _tidy(items: list[Item]) -> list[Item]:
    """Without what the program adds, and with the text blocks of a message as one."""
    tidy: list[Item] = []
    for item in items:
        if item.kind == "user" and item.text.startswith(ADDED):
            continue
        if tidy and tidy[-1].kind == item.kind == "text":
            tidy[-1] = Item("text", tidy[-1].text + item.text)
        else:
            tidy.append(item)
    return tidy


CLAUDE = Adapter(
    name="Claude Agent SDK",
    framework="claude",
    folder="claude_agent_sdk",
    provider=scripted_anthropic,
    base_url="ANTHROPIC_BASE_URL",
    env=OFFLINE,
    tool_prefix="mcp__tools__",
    delegate=_to_subagent,
    tidy=_tidy,
)
