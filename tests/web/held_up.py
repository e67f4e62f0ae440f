"""An agent that is held up in the middle of what it says."""

from __future__ import annotations

from server.scripted_agent import Gate, pieces, prompt

__all__ = ["FIRST", "LAST", "held"]

FIRST = pieces("text", "first", ["This", "comes", "before", "the", "agent", "is", "held", "up"])
LAST = pieces("text", "last", ["and", "this", "comes", "after", "it", "was", "let", "go"])


def held(gate: Gate) -> str:
    """What makes it say something, wait at the gate, and say some more."""
    return prompt(*FIRST, gate.step, *LAST)
