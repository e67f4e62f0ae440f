"""`shared.frameworks.openai` for agents that are run by hand; see emitter.py above."""

from mobox.agent_path.shared.frameworks.openai import Answer, Call, ResponseFailed, emit, messages

__all__ = ["Answer", "Call", "ResponseFailed", "emit", "messages"]
