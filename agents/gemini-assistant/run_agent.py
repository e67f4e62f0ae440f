"""An assistant on Google's ADK that keeps notes, converts units, counts days and plans trips.

Its guide to cities is a subagent. It shows the model's thoughts, and a person is asked before a
note is deleted.
"""

import os
from pathlib import Path

import tools
from google.adk.agents import Agent
from google.adk.planners import BuiltInPlanner
from google.adk.tools import FunctionTool
from google.genai import types
from shared.frameworks.adk import run

PROMPTS = Path(__file__).resolve().parent / "prompts"
MODEL = os.environ.get("MODEL") or "gemini-2.5-flash"


def made(name: str, **more) -> Agent:
    """An agent with the prompt of a file, which shows its thoughts."""
    thinking = types.ThinkingConfig(include_thoughts=True)
    return Agent(
        name=name,
        model=MODEL,
        instruction=(PROMPTS / f"{name}.txt").read_text("utf-8"),
        planner=BuiltInPlanner(thinking_config=thinking),
        **more,
    )


guide = made(
    "guide",
    description="Knows twelve cities: their weather, sights and food. Give it one question.",
    mode="single_turn",
    tools=[tools.search_cities],
)
assistant = made(
    "assistant",
    tools=[
        tools.search_notes,
        tools.save_note,
        FunctionTool(tools.delete_note, require_confirmation=True),
        tools.convert_units,
        tools.days_between,
    ],
    sub_agents=[guide],
)
run(assistant)
