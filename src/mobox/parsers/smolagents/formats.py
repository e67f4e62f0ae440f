"""The formats of smolagents' lines."""

from __future__ import annotations

from mobox.events import JSON
from mobox.parsers.formats import Format, having, kinds

__all__ = ["FORMATS"]

_STEPS = (
    "ActionOutput", "ActionStep", "ChatMessageStreamDelta", "FinalAnswerStep", "PlanningStep",
    "TaskStep", "ToolOutput",
)  # fmt: skip


def _call(line: JSON) -> float:
    """A call of a tool; LlamaIndex has a class of the same name, with other fields."""
    if not kinds("type", ("ToolCall",), "data")(line):
        return 0.0
    return max(having("function")(line["data"]), having("name", "arguments")(line["data"]))


FORMATS: tuple[Format, ...] = (
    Format(
        "smolagents' steps",
        (
            kinds("type", _STEPS, "data"),
            kinds("_class", _STEPS),
            _call,
            kinds("_class", ("ToolCall",), "name", "arguments"),
        ),
    ),
)
