"""Recognizes LangGraph's own stream, `astream`: parts of several modes, as tuples or as objects.

A part is `[mode, data]`, with subgraphs `[namespace, mode, data]`; with a single mode it is only
the data, with subgraphs `[namespace, data]`. `version="v2"` sends `{"type": mode, "ns", "data"}`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mobox.events import JSON
from mobox.parsers.langchain.graph import INTERRUPT, Graph
from mobox.parsers.langchain.objects import as_message

__all__ = ["Part", "as_part"]


class Part(NamedTuple):
    """One part of a graph's stream."""

    mode: str
    data: JSON
    space: tuple[str, ...] = ()
    interrupts: JSON = None


def as_part(raw: JSON, graph: Graph) -> Part | None:
    """The part that a line is, if it is one."""
    if isinstance(raw, dict):
        return _object(raw, graph) or _data(raw, ())
    return _tuple(raw, graph) if isinstance(raw, list) else None


def _object(raw: dict[str, JSON], graph: Graph) -> Part | None:
    mode = raw.get("mode", raw.get("type"))
    space = _space(raw.get("ns"))
    if space is None or "data" not in raw or not isinstance(mode, str) or not graph.knows(mode):
        return None
    return Part(mode, raw["data"], space, raw.get("interrupts"))


def _tuple(raw: list[JSON], graph: Graph) -> Part | None:
    match raw:
        case [str() as mode, data] if graph.knows(mode):
            return Part(mode, data)
        case [list() as names, str() as mode, data] if graph.knows(mode):
            space = _space(names)
            return Part(mode, data, space) if space is not None else None
        case [list() as names, data]:
            space = _space(names)
            return _data(data, space) if space is not None else None
        case _:
            return _data(raw, ())


def _data(data: Any, space: tuple[str, ...]) -> Part | None:
    """A part without a mode: the mode is derived from its shape."""
    match data:
        case [message, dict()] if as_message(message) is not None:
            return Part("messages", data, space)
        case {"messages": list()}:
            return Part("values", data, space)
        case dict() if INTERRUPT in data or _is_update(data):
            return Part("updates", data, space)
        case _:
            return None


def _is_update(data: dict[str, JSON]) -> bool:
    updates = list(data.values())
    return all(isinstance(each, dict) or each is None for each in updates) and any(
        isinstance(each, dict) and "messages" in each for each in updates
    )


def _space(names: JSON) -> tuple[str, ...] | None:
    is_space = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_space else None
