"""The frameworks of the matrix, in the order of the table's columns."""

from frameworks.adapters.adk import ADK
from frameworks.adapters.claude import CLAUDE
from frameworks.adapters.langchain import DEEPAGENTS, LANGGRAPH
from frameworks.adapters.openai_agents import OPENAI_AGENTS
from frameworks.adapters.smolagents import SMOLAGENTS

ADAPTERS = (LANGGRAPH, DEEPAGENTS, CLAUDE, OPENAI_AGENTS, ADK, SMOLAGENTS)
