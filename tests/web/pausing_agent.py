"""An agent that pauses in the middle of its output."""

from __future__ import annotations

from server.scripted_agent import Gate, pieces, prompt

__all__ = ["FIRST", "LAST", "held"]

FIRST = pieces("text", "first", ["This", "comes", "before", "the", "agent", "is", "held", "up"])
LAST = pieces("text", "last", ["and", "this", "comes", "after", "it", "was", "let", "go"])


def held(gate: Gate) -> str:
    """A prompt that makes it emit text, wait at the gate, and emit more."""
    return prompt(*FIRST, gate.step, *LAST)
