"""The client of Anthropic in a function agent: its messages, and its streams as events."""

from mobox.agent_path.shared.frameworks.anthropic import Answer, Call, emit, messages

__all__ = ["Answer", "Call", "emit", "messages"]
