"""An agent on the Claude Agent SDK with one tool."""

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool
from shared.frameworks.claude import run


@tool("get_weather", "Return the weather of a city.", {"city": str})
async def get_weather(given):
    """Return the weather of a city."""
    return {"content": [{"type": "text", "text": f"21 degrees and sunny in {given['city']}"}]}


run(
    ClaudeAgentOptions(
        system_prompt="You tell the weather.",
        mcp_servers={"weather": create_sdk_mcp_server("weather", tools=[get_weather])},
        allowed_tools=["mcp__weather__get_weather"],  # for all other tools a person is asked
        tools=[],  # of Claude Code itself; such as "Read", "Write", "WebSearch"
        setting_sources=[],
    )
)
