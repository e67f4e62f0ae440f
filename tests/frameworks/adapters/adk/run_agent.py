"""An agent on ADK, with a subagent."""

import tools
from google.adk.agents import Agent
from google.adk.tools import FunctionTool
from shared.frameworks.adk import run

helper = Agent(
    name="helper",
    model="gemini-scripted",
    description="Helps.",
    instruction="You help.",
    mode="single_turn",
    tools=[tools.look_up],
)
run(
    Agent(
        name="boss",
        model="gemini-scripted",
        tools=[
            tools.look_up,
            FunctionTool(tools.delete_file, require_confirmation=True),
            tools.hold,
        ],
        sub_agents=[helper],
    )
)
