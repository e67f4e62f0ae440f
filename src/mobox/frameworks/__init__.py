"""Agents of frameworks as functions of an app: `mobox.frameworks.langchain.agent("id", graph)`."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mobox.frameworks import (
        adk,
        anthropic,
        claude,
        gemini,
        langchain,
        openai,
        openai_agents,
        smolagents,
    )

__all__ = [
    "adk", "anthropic", "claude", "gemini", "langchain", "openai", "openai_agents", "smolagents",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Import a framework's module on first access."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
