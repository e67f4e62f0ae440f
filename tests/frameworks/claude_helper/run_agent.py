"""An agent with `shared.frameworks.claude`, whose options depend on the turn."""

import asyncio
import json
import os
from pathlib import Path

import claude_agent_sdk
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    PermissionResultAllow,
    create_sdk_mcp_server,
    tool,
)
from shared.frameworks import claude

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


def forgetful():
    """The program as one that does not know about deferred calls."""
    claude.SECONDS_TO_DEFER = 3
    program = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    script = STATE / "forgetful"
    forget = 'sed -i /hook_deferred_tool/d "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl 2>/dev/null'
    script.write_text(f'#!/bin/sh\n{forget}\nexec {program} "$@"\n')
    script.chmod(0o700)
    return script


def options(turn):
    helper = AgentDefinition(description="Helps.", prompt="You help.", model="inherit")
    return ClaudeAgentOptions(
        agents={"helper": helper},
        allowed_tools=["Agent"],
        cli_path=forgetful() if "forgetful" in turn.chat_id else None,
        mcp_servers={"files": create_sdk_mcp_server("files", tools=[delete_file, begin])},
        setting_sources=[],
        cwd=STATE,
        can_use_tool=allow_shell if "[[report" in turn.prompt else None,
        system_prompt=json.dumps({"chat": turn.chat_id}),
    )


claude.run(options)
