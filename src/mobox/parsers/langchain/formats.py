"""The formats of the lines of LangChain, LangGraph and DeepAgents."""

from __future__ import annotations

from collections.abc import Iterator

from mobox.events import JSON
from mobox.parsers.formats import Format, having, kinds, prefixed
from mobox.parsers.json_values import object_of
from mobox.parsers.langchain import protocol_wire
from mobox.parsers.langchain.graph import INTERRUPT, Graph
from mobox.parsers.langchain.objects import as_message, named

__all__ = ["DEEP_FORMATS", "FORMATS"]

_METHODS = [str(line.__struct_config__.tag) for line in protocol_wire.Line.__subclasses__()]
_EVENTS = [str(event.__struct_config__.tag) for event in protocol_wire.Event.__subclasses__()]
_MIDDLEWARE = ("PatchToolCallsMiddleware", "SubAgentMiddleware", "FilesystemMiddleware")
"""Nodes of a deep agent, which other graphs do not have by default."""


def _callback(line: JSON) -> float:
    return prefixed("event", "on_")(line) * having("run_id")(line)


def _part(line: JSON) -> float:
    match line:
        case {"ns": list(), "data": _, "mode": str() as mode}:
            return float(mode in Graph.MODES)
        case {"ns": list(), "data": _, "type": str() as mode}:
            return float(mode in Graph.MODES)
        case [str() as mode, _] | [list(), str() as mode, _]:
            return float(mode in Graph.MODES)
        case [list(), {"messages": list()}]:
            return 0.8
        case _:
            return 0.0


def _message(line: JSON) -> float:
    match line:
        case [dict() as message, dict()]:
            return _message(message)
        case {"lc": 1} | {"_lc": str()}:
            return 1.0
        case {"messages": list() as messages}:
            return 0.8 if all(map(as_message, messages)) else 0.0
        case dict() if INTERRUPT in line:
            return 0.9
        case dict() if as_message(line) is not None:
            return 0.9 if named(line) is not None else 0.7
        case dict() if line:
            return 0.7 * all(_is_update(each) for each in line.values())
        case _:
            return 0.0


def _is_update(update: JSON) -> bool:
    return isinstance(update, dict) and _message({"messages": update.get("messages")}) > 0


def _deep(line: JSON) -> float:
    return float(any(map(_is_deep, _about(line))))


def _is_deep(metadata: dict[str, JSON]) -> bool:
    names = (metadata.get("name"), metadata.get("langgraph_node"))
    return (
        "deepagents" in object_of(metadata.get("lc_versions"))
        or metadata.get("ls_integration") == "deepagents"
        or any(isinstance(name, str) and name.startswith(_MIDDLEWARE) for name in names)
        or any(name.startswith(_MIDDLEWARE) for name in metadata)
    )


def _about(line: JSON) -> Iterator[dict[str, JSON]]:
    """The objects of a line that may name its agent; no others are searched."""
    if isinstance(line, list):
        yield from _about_data(line[-1] if line else None)
        return
    outer = object_of(line)
    yield outer
    yield object_of(outer.get("metadata"))
    yield from _about_data(outer.get("data"))
    yield from _about_data(object_of(outer.get("params")).get("data"))


def _about_data(data: JSON) -> Iterator[dict[str, JSON]]:
    if isinstance(data, list):
        yield object_of(data[-1] if data else None)
    else:
        yield object_of(data)
        yield object_of(object_of(data).get("metadata"))


FORMATS: tuple[Format, ...] = (
    Format(
        "LangChain's events",
        (
            _callback,
            kinds("method", _METHODS, "params"),
            kinds("event", _EVENTS),
            having("_interrupts"),
        ),
    ),
    Format("LangGraph's stream parts", (_part,)),
    Format("LangChain's messages", (_message,)),
)

DEEP_FORMATS: tuple[Format, ...] = (Format("DeepAgents' events", (_deep,), narrows="langchain"),)
