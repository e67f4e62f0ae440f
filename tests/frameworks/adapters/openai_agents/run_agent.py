"""An agent on OpenAI's Agents SDK, with another agent as a tool."""

import tools
from shared.emitter import emit_object
from shared.frameworks.openai_agents import run

from agents import Agent, function_tool

look_up = function_tool(tools.look_up)
delete_file = function_tool(tools.delete_file, needs_approval=True)
hold = function_tool(tools.hold)
helper = Agent(name="helper", instructions="You help.", tools=[look_up])
ask_helper = helper.as_tool("ask_helper", "Helps.", on_stream=emit_object)
run(Agent(name="boss", tools=[look_up, delete_file, hold, ask_helper]))
