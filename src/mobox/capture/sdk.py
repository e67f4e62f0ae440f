"""Objects of SDKs as the plain values that parsers read, for an agent in this process.

An agent in a process of its own says the same with `emit_object`.
"""

from __future__ import annotations

from mobox.agent_path.shared.objects import Objects
from mobox.events import JSON

__all__ = ["SdkObjects"]


class SdkObjects:
    """The objects of one run; those that a graph's state repeats are told once.

    No SDK is imported: pydantic models, dataclasses, LangChain's messages, commands and interrupts,
    exceptions, bytes and images are told apart by what they have.
    """

    def __init__(self) -> None:
        self._objects = Objects()

    def describe(self, value: object) -> JSON:
        """What a parser's `feed` takes, or a recorder's; never raises."""
        return self._objects.describe(value)
