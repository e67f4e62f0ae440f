"""The formats of Gemini's lines."""

from __future__ import annotations

from mobox.events import JSON
from mobox.parsers.formats import Format, having, kinds, prefixed

__all__ = ["FORMATS"]

_AUTHOR = ("author",)
"""An event of ADK has one, and the fields of a chunk beside it."""


def _error(line: JSON) -> float:
    error = line.get("error") if isinstance(line, dict) else None
    return 0.6 if isinstance(error, dict) and error.keys() >= {"code", "status"} else 0.0


FORMATS: tuple[Format, ...] = (
    Format(
        "Gemini's generate_content chunks",
        (
            having("candidates", without=_AUTHOR),
            having("promptFeedback", without=_AUTHOR),
            having("prompt_feedback", without=_AUTHOR),
            having("usageMetadata", "modelVersion", without=_AUTHOR, confidence=0.9),
            having("usage_metadata", "model_version", without=_AUTHOR, confidence=0.9),
            having("automaticFunctionCallingHistory"),
            having("automatic_function_calling_history"),
            _error,
        ),
    ),
    Format("Gemini's interactions events", (prefixed("event_type", "interaction.", "step."),)),
    Format(
        "simplified lines for Gemini",
        (kinds("type", ("content", "function_call", "function_response"), "data", confidence=0.8),),
    ),
)
