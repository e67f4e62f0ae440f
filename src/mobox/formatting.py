"""What the author of a formatter imports, beside `mobox.events` and `mobox.errors`.

docs/add-a-protocol.md shows its use. The names are stable (docs/stability.md); the modules that
they come from are internal. Nothing in Mobox imports this module.
"""

from mobox.events.blocks import LINE_EVENTS, Blocks
from mobox.events.message import Message
from mobox.events.transcript import HeldErrors, build_message
from mobox.events.usage import UsageTotal
from mobox.formatters import (
    Formatter,
    FormatterFactory,
    StoredRun,
    format_all,
    get_formatter,
    profiles_of,
    protocols,
)
from mobox.formatters.pieces import format_pieces
from mobox.formatters.values import (
    FAILED_OUTCOMES,
    call_error,
    file_url,
    run_failure,
    source_document,
    source_url,
    without_none,
)

__all__ = [
    "FAILED_OUTCOMES",
    "LINE_EVENTS",
    "Blocks",
    "Formatter",
    "FormatterFactory",
    "HeldErrors",
    "Message",
    "StoredRun",
    "UsageTotal",
    "build_message",
    "call_error",
    "file_url",
    "format_all",
    "format_pieces",
    "get_formatter",
    "profiles_of",
    "protocols",
    "run_failure",
    "source_document",
    "source_url",
    "without_none",
]
