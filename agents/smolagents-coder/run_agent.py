"""A coder on smolagents: it answers by writing Python, which runs here.

It gives questions about the climate data to a data reader, an agent that it manages. A person is
asked before it saves or deletes a file.
"""

import os
from pathlib import Path

import tools
from shared.frameworks.smolagents import needs_approval, run
from smolagents import CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent

PROMPTS = Path(__file__).resolve().parent / "prompts"
IMPORTS = [
    "bisect", "calendar", "csv", "dataclasses", "decimal", "fractions", "functools", "heapq",
    "json", "operator", "string", "textwrap", "typing",
]  # fmt: skip
"""What code may import, beside smolagents' own list: collections, itertools, math, random, …"""

# A rate limit is an error that can be retried; smolagents would wait two minutes first.
model = OpenAIModel(os.environ.get("MODEL") or "gpt-5-mini", retry=False)
quiet = {"verbosity_level": LogLevel.ERROR}  # the page shows what it would print

data_reader = ToolCallingAgent(
    tools=[tools.list_tables, tools.search_data],
    model=model,
    name="data_reader",
    description="Looks up the climate of cities: temperature and rain by month.",
    instructions=(PROMPTS / "data_reader.txt").read_text("utf-8"),
    max_steps=6,
    **quiet,
)
coder = CodeAgent(
    tools=[
        tools.list_files,
        tools.open_file,
        needs_approval(tools.save_file),
        needs_approval(tools.delete_file),
    ],
    model=model,
    managed_agents=[data_reader],
    additional_authorized_imports=IMPORTS,
    instructions=(PROMPTS / "coder.txt").read_text("utf-8"),
    max_steps=12,
    **quiet,
)
run(coder)
