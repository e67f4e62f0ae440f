"""`shared.frameworks.langchain` for agents that are run by hand; see emitter.py above."""

from mobox.agent_path.shared.frameworks.langchain import frontend_tools, messages, run, stream

__all__ = ["frontend_tools", "messages", "run", "stream"]
