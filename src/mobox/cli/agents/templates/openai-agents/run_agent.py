"""An agent on OpenAI's Agents SDK with one tool."""

from agents import Agent, RunConfig, function_tool
from shared.frameworks.openai_agents import run


@function_tool
def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


agent = Agent(name="weather", instructions="You tell the weather.", tools=[get_weather])
run(agent, run_config=RunConfig(tracing_disabled=True))  # traces would go to OpenAI
