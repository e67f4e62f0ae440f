"""Converts objects of SDKs to the plain values that parsers read, for function agents.

An agent in its own process emits the same with `emit_object`.
"""

from __future__ import annotations

from mobox.agent_path.shared.objects import Objects
from mobox.events import JSON

__all__ = ["SdkObjects"]


class SdkObjects:
    """The objects of one run; those that a graph's state repeats are emitted once.

    No SDK is imported: pydantic models, dataclasses, LangChain's messages, commands and interrupts,
    exceptions, bytes and images are recognized by their attributes.
    """

    def __init__(self) -> None:
        self._objects = Objects()

    def describe(self, value: object) -> JSON:
        """The value for a parser's or recorder's `feed`; never raises."""
        return self._objects.describe(value)
