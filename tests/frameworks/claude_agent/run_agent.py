"""An agent on the Claude Agent SDK that asks a person before it deletes a file."""

import asyncio
import os
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    create_sdk_mcp_server,
    tool,
)
from shared.emitter import ask, emit_object, read_turn

FOLDER = Path(os.environ["MOBOX_STATE"])


@tool("delete_file", "Deletes a file", {"path": str})
async def delete_file(arguments: dict[str, Any]) -> dict[str, Any]:
    with (FOLDER / "deleted.txt").open("a") as deleted:
        deleted.write(arguments["path"] + "\n")
    return {"content": [{"type": "text", "text": f"deleted {arguments['path']}"}]}


async def may_use(name: str, arguments: dict[str, Any], context: Any) -> Any:
    """Asked by the SDK; in a thread, so that the SDK's messages go on while a person thinks."""
    call = context.tool_use_id
    asked = {"kind": "approval", "tool_call_id": call, "id": f"may_{call}"}
    told = await asyncio.to_thread(ask, f"May I use {name}?", **asked)
    if told["decision"] == "approved":
        return PermissionResultAllow(updated_input=arguments)
    return PermissionResultDeny(message=told.get("reason") or "The person said no.")


async def main() -> None:
    turn = read_turn()
    options = ClaudeAgentOptions(
        mcp_servers={"files": create_sdk_mcp_server("files", tools=[delete_file])},
        can_use_tool=may_use,
        include_partial_messages=True,
        setting_sources=[],
        cwd=FOLDER,
    )
    async with ClaudeSDKClient(options) as client:
        await client.query(turn.prompt or "Go on.")
        async for message in client.receive_response():
            emit_object(message)


asyncio.run(main())
