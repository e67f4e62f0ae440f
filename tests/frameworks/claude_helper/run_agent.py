"""An agent with `shared.frameworks.claude`, whose options depend on the turn."""

import asyncio
import json
import os
from pathlib import Path

from claude_agent_sdk import (
    ClaudeAgentOptions,
    PermissionResultAllow,
    create_sdk_mcp_server,
    tool,
)
from shared.frameworks.claude import run

STATE = Path(os.environ["MOBOX_STATE"])


def note(line):
    with (STATE / "effects.txt").open("a") as file:
        file.write(line + "\n")
    return {"content": [{"type": "text", "text": line}]}


@tool("delete_file", "Deletes a file", {"path": str})
async def delete_file(arguments):
    return note(f"deleted {arguments['path']}")


@tool("begin", "Begins, and does not end", {"what": str})
async def begin(arguments):
    note(f"began {arguments['what']}")
    await asyncio.Event().wait()


async def allow_shell(name, arguments, context):
    """Decides about one tool itself; the others are for a person."""
    return PermissionResultAllow(updated_input=arguments) if name == "Bash" else None


def options(turn):
    return ClaudeAgentOptions(
        mcp_servers={"files": create_sdk_mcp_server("files", tools=[delete_file, begin])},
        setting_sources=[],
        cwd=STATE,
        can_use_tool=allow_shell if "[[report" in turn.prompt else None,
        system_prompt=json.dumps({"chat": turn.chat_id}),
    )


run(options)
