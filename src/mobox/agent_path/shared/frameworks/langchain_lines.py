"""What a tool or a node emits goes through the stream of its graph.

A tool runs while its graph's events wait to be read: a line that it printed itself would come too
early, and would not tell which agent it is from. In the stream it comes in order, and has the
namespace of the agent; the parser makes the line's scope of it.

Lines that ask a person are printed at once: who asks waits for the answer, and may block the stream
meanwhile. So are lines of what runs outside of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from ..output import plain, told_to, where_lines_go
from .langchain_answers import TURN

__all__ = ["LINE", "lines_in_stream"]

LINE = "mobox_line"
"""The key of a line in a graph's custom event."""
AT_ONCE = frozenset(("input_request", "paused"))


@contextmanager
def lines_in_stream() -> Iterator[None]:
    """Emit the lines of a graph's tools and nodes as its custom events."""
    write = where_lines_go()

    def take(line: Any) -> None:
        writer = None if _asks(line) else _writer()
        if writer is None:
            write(line)
        else:
            writer({LINE: plain(line)})

    taken = ExitStack()
    taken.enter_context(told_to(take))
    try:
        yield
    finally:
        with suppress(ValueError):  # a generator may be closed in another context
            taken.close()


def _asks(line: Any) -> bool:
    if not isinstance(line, dict) or line.get("type") in AT_ONCE:
        return True
    data = line.get("data")
    return isinstance(data, dict) and bool(data.get("frontend"))


def _writer() -> Callable[[Any], None] | None:
    """The writer of the custom events of our graph; `None` outside of it."""
    from langgraph.config import get_config, get_stream_writer

    try:
        return get_stream_writer() if TURN in get_config()["configurable"] else None
    except (KeyError, RuntimeError):
        return None
