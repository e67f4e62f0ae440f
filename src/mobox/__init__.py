"""Any agent in, any frontend out, nothing lost in between."""

from importlib import import_module

from mobox.errors import MoboxError
from mobox.events import EventType, LogEntry, StreamEvent
from mobox.formatters import Formatter, get_formatter
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser, get_parser
from mobox.pipeline import Recorder

__all__ = [
    "EventParser",
    "EventType",
    "Formatter",
    "Lifecycle",
    "LogEntry",
    "MoboxError",
    "Recorder",
    "StreamEvent",
    "get_formatter",
    "get_parser",
]

__version__ = "0.1.0"

_DOCUMENTED = {"NormalizedToAISDK", "SSEFormatter"}


def __getattr__(name: str) -> object:
    """The documents' own names for things; see docs/names.md."""
    if name not in _DOCUMENTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mobox.compat"), name)
