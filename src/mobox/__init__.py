"""Any agent in, any frontend out, nothing lost in between."""

from importlib import import_module
from typing import TYPE_CHECKING

from mobox import _moved
from mobox.capture.pipeline import Recorder
from mobox.errors import AgentError, MoboxError
from mobox.events import EventType, LogEntry, StreamEvent
from mobox.formatters import Formatter, get_formatter
from mobox.lifecycle import Lifecycle
from mobox.parsers import EventParser, get_parser

if TYPE_CHECKING:
    from mobox import emit, frameworks
    from mobox.capture.asking import Turn
    from mobox.capture.callable import SdkObjects
    from mobox.capture.catalog import agent
    from mobox.library import Mobox, mount
    from mobox.server.auth.principal import Principal

__all__ = [
    "AgentError",
    "EventParser",
    "EventType",
    "Formatter",
    "Lifecycle",
    "LogEntry",
    "Mobox",
    "MoboxError",
    "Principal",
    "Recorder",
    "SdkObjects",
    "StreamEvent",
    "Turn",
    "agent",
    "emit",
    "frameworks",
    "get_formatter",
    "get_parser",
    "mount",
]

__version__ = "0.1.0"

_moved.install()

_LATER = {
    "Mobox": "mobox.library",
    "NormalizedToAISDK": "mobox.compat",
    "Principal": "mobox.server.auth.principal",
    "SSEFormatter": "mobox.compat",
    "SdkObjects": "mobox.capture.callable",
    "Turn": "mobox.capture.asking",
    "agent": "mobox.capture.catalog",
    "mount": "mobox.library",
}
"""Names imported on first use: they need more than the pipeline, or are aliases (docs/names.md)."""


def __getattr__(name: str) -> object:
    """Import the names of `_LATER` on first access."""
    if name in ("emit", "frameworks"):
        return import_module(f"mobox.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_LATER[name]), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "mobox").partition(".")[0]
        if missing == "mobox":
            raise
        from mobox.errors import NotInstalled

        raise NotInstalled(f"mobox.{name}", missing, "server") from None
