"""An agent of smolagents that writes code, with one tool."""

from shared.frameworks.smolagents import run
from smolagents import CodeAgent, OpenAIModel, tool


@tool
def get_weather(city: str) -> str:
    """Return the weather of a city.

    Args:
        city: The name of the city.
    """
    return f"21 degrees and sunny in {city}"


run(CodeAgent(tools=[get_weather], model=OpenAIModel("gpt-5-mini"), stream_outputs=True))
