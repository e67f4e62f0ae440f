"""A deep agent: it plans, keeps notes in files, and has a subagent."""

from deepagents import create_deep_agent
from shared.frameworks.langchain import run


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


FORECASTER = {
    "name": "forecaster",
    "description": "Finds out the weather of one city.",
    "system_prompt": "You tell the weather of a city in one sentence.",
    "tools": [get_weather],
}

run(
    create_deep_agent(
        model="anthropic:claude-sonnet-4-5",
        tools=[get_weather],
        system_prompt="You compare the weather of cities.",
        subagents=[FORECASTER],
    )
)
