"""An agent on Google's Agent Development Kit with one tool."""

from google.adk.agents import Agent
from shared.frameworks.adk import run


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


run(
    Agent(
        name="weather",
        model="gemini-2.5-flash",
        instruction="You tell the weather.",
        tools=[get_weather],
    )
)
