"""Lines of OpenAI's streams, for the tests of their parser."""

from typing import Any

from mobox import StreamEvent, get_parser
from mobox.events import Text, TextDelta
from mobox.lifecycle import Lifecycle

Line = dict[str, Any]
Events = list[StreamEvent]


def chunk(delta: Line | None = None, finish: str | None = None, **more: Any) -> Line:
    """A chunk of a chat completion."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "model": "m", "choices": [choice], **more}


def call(index: int | None, arguments: Any, **more: Any) -> Line:
    """A chunk with a piece of a call."""
    name = more.pop("name", None)
    piece = {"index": index, "function": {"name": name, "arguments": arguments}, **more}
    return chunk({"tool_calls": [piece]})


def event(kind: str, index: int = 0, **more: Any) -> Line:
    """An event of a response."""
    return {"type": f"response.{kind}", "output_index": index, "item_id": f"i{index}", **more}


def created(name: str = "r", **more: Any) -> Line:
    return {"type": "response.created", "response": {"id": name, "model": "m", **more}}


def ended(kind: str = "completed", name: str = "r", **more: Any) -> Line:
    return {"type": f"response.{kind}", "response": {"id": name, "status": kind, **more}}


def added(index: int, kind: str, **more: Any) -> Line:
    return event("output_item.added", index, item={"type": kind, "id": f"i{index}", **more})


def done(index: int, kind: str, **more: Any) -> Line:
    return event("output_item.done", index, item={"type": kind, "id": f"i{index}", **more})


def raw(line: Line) -> Line:
    """An event of a response, as the Agents SDK hands it on."""
    return {"type": "raw_response_event", "data": line}


def ran(kind: str, raw_item: Line, **more: Any) -> Line:
    """A run item of the Agents SDK."""
    item = {"type": kind, "raw_item": raw_item, **more}
    return {"type": "run_item_stream_event", "name": "any", "item": item}


def fed(*lines: Any, prefix: str = "") -> Events:
    """What a parser says to these lines, before the source ends."""
    parser = get_parser("openai", prefix)
    return [told for line in lines for told in parser.feed(line)]


def run(*lines: Any, prefix: str = "") -> Events:
    """What a parser says to these lines, and at the end."""
    parser = get_parser("openai", prefix)
    return [told for line in lines for told in parser.feed(line)] + parser.close()


def logged(*lines: Any) -> Events:
    """What of that is in the log."""
    return Lifecycle().feed_all(run(*lines))


def of(kind: Any, events: Events) -> list[Any]:
    """The events of one class."""
    return [told for told in events if type(told) is kind]


def text_of(events: Events) -> str:
    texts = (told for told in events if isinstance(told, Text | TextDelta) and not told.scope)
    return "".join(told.content if isinstance(told, Text) else told.delta for told in texts)
