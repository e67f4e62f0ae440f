"""The OpenAI Agents SDK, under a name of its own; the form is told by its shape."""

from __future__ import annotations

from mobox.parsers.openai import OpenAIParser

__all__ = ["OpenAIAgentsParser"]


class OpenAIAgentsParser(OpenAIParser):
    """One run of an agent that is built with the Agents SDK."""

    framework = "openai-agents"
