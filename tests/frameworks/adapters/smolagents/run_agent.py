"""A tool calling agent of smolagents, which manages another one."""

import os

import tools
from shared.frameworks.smolagents import needs_approval, run
from smolagents import OpenAIModel, ToolCallingAgent, tool

ARGUMENTS = {"look_up": "city", "delete_file": "path", "hold": "what"}


def described(function):
    """A tool of smolagents, which wants its arguments described."""
    function.__doc__ += f"\n\n    Args:\n        {ARGUMENTS[function.__name__]}: Which one."
    return tool(function)


look_up = described(tools.look_up)
delete_file = needs_approval(described(tools.delete_file))
hold = described(tools.hold)
model = OpenAIModel("gpt", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", retry=False)
helper = ToolCallingAgent([look_up], model, name="helper", description="Helps.")
run(ToolCallingAgent([look_up, delete_file, hold], model, managed_agents=[helper]))
