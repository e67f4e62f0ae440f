"""An agent on the Claude Agent SDK, with tools in its own process, and a subagent."""

import asyncio
import inspect

import tools
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, create_sdk_mcp_server, tool
from shared.frameworks.claude import run


def made(function):
    schema = dict.fromkeys(inspect.signature(function).parameters, str)

    @tool(function.__name__, function.__doc__, schema)
    async def call(arguments):
        done = await asyncio.to_thread(function, **arguments)
        return {"content": [{"type": "text", "text": done}]}

    return call


server = create_sdk_mcp_server(
    "tools", tools=[made(each) for each in (tools.look_up, tools.delete_file, tools.hold)]
)
helper = AgentDefinition(
    description="Helps.", prompt="You help.", tools=["mcp__tools__look_up"], model="inherit"
)
run(
    ClaudeAgentOptions(
        mcp_servers={"tools": server},
        allowed_tools=["mcp__tools__look_up", "mcp__tools__hold", "Agent"],
        agents={"helper": helper},
        setting_sources=[],
    )
)
