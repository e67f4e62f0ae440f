"""A tool for reflection: the agent writes down what it has found, and people can read along."""

from langchain_core.tools import tool
from shared.emitter import emit_think


@tool
def think_tool(thought: str) -> str:
    """Reflect on the research so far. Call this after every search.

    Say what was found, what is still missing, and what to do next: search again, or report.
    """
    emit_think(thought)
    return "Thought recorded."
