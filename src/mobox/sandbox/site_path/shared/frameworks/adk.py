"""`shared.frameworks.adk` for agents that are run by hand; see emitter.py above."""

from mobox.agent_path.shared.frameworks.adk import messages, run, stream

__all__ = ["messages", "run", "stream"]
