"""An agent of LangChain with one tool."""

from langchain.agents import create_agent
from shared.frameworks.langchain import run


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


run(create_agent("anthropic:claude-sonnet-4-5", tools=[get_weather]))
