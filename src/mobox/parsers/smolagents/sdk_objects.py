"""Converts smolagents' Python objects, `{"_class": name, …fields}`, into its lines.

The package's own `dict()` methods make the lines; as a dataclass, a call has its function's name
and arguments beside its id, and the error of a step is an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobox.events import JSON

__all__ = ["as_line"]

Data = dict[str, JSON]


def as_line(raw: Data) -> Data:
    """The line of an object."""
    kind, within = raw.get("_class"), raw.get("within")
    data = {name: value for name, value in raw.items() if name not in ("_class", "within")}
    repair = _MENDERS.get(kind) if isinstance(kind, str) else None
    line = {"type": kind, "data": data if repair is None else repair(data)}
    return line if within is None else {**line, "within": within}


def _call(data: Data) -> Data:
    if "function" in data or "name" not in data:
        return data
    function = {"name": data["name"], "arguments": data.get("arguments")}
    return {"id": data.get("id"), "function": function}


def _step(data: Data) -> Data:
    error: Any = data.get("error")
    if not isinstance(error, dict) or "_exception" not in error:
        return data
    return {**data, "error": {"type": error["_exception"], "message": error.get("str") or ""}}


_MENDERS: dict[str, Callable[[Data], Data]] = {
    "ToolCall": _call,
    "ActionStep": _step,
}
