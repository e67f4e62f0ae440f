"""The client of OpenAI in a function agent: its messages, and its streams as events."""

from mobox.agent_path.shared.frameworks.openai import Answer, Call, ResponseFailed, emit, messages

__all__ = ["Answer", "Call", "ResponseFailed", "emit", "messages"]
