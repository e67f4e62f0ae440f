"""`shared.frameworks.smolagents` for agents that are run by hand; see emitter.py above."""

from mobox.agent_path.shared.frameworks.smolagents import messages, needs_approval, run, stream

__all__ = ["messages", "needs_approval", "run", "stream"]
