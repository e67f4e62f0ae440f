"""`shared.frameworks.claude` for agents that are run by hand; see emitter.py above."""

from mobox.agent_path.shared.frameworks.claude import messages, run, stream

__all__ = ["messages", "run", "stream"]
