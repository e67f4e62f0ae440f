"""`shared.frameworks.anthropic` for agents that are run by hand; see emitter.py above."""

from mobox.agent_path.shared.frameworks.anthropic import Answer, Call, emit, messages

__all__ = ["Answer", "Call", "emit", "messages"]
