"""What the author of a parser imports, beside `mobox.events` and `mobox.errors`.

docs/add-a-framework.md shows its use. The names are stable (docs/stability.md); the modules that
they come from are internal. Nothing in Mobox imports this module.
"""

from mobox.events.json_text import decode_json
from mobox.events.names import IdAllocator, tool_use_end
from mobox.events.usage import sum_counts
from mobox.parsers import EventParser, frameworks, get_parser
from mobox.parsers.emitted.lines import LineForm
from mobox.parsers.formats import Format, Shape, has_keys, kind_in, kind_starts_with
from mobox.parsers.tool_kinds import (
    CLAUDE_DISPLAYS,
    LANGCHAIN_DISPLAYS,
    is_failed_output,
    runs_python,
    search_sources,
    split_encrypted,
    todo_change,
    todo_item,
    tool_kind,
)
from mobox.parsers.values import (
    ALREADY_REPORTED,
    as_object,
    as_text,
    exception_class,
    exception_error,
    first_text,
    is_exception,
    is_web_url,
    objects_in,
    parse_or_raw,
    split_data_url,
)

__all__ = [
    "ALREADY_REPORTED",
    "CLAUDE_DISPLAYS",
    "LANGCHAIN_DISPLAYS",
    "EventParser",
    "Format",
    "IdAllocator",
    "LineForm",
    "Shape",
    "as_object",
    "as_text",
    "decode_json",
    "exception_class",
    "exception_error",
    "first_text",
    "frameworks",
    "get_parser",
    "has_keys",
    "is_exception",
    "is_failed_output",
    "is_web_url",
    "kind_in",
    "kind_starts_with",
    "objects_in",
    "parse_or_raw",
    "runs_python",
    "search_sources",
    "split_data_url",
    "split_encrypted",
    "sum_counts",
    "todo_change",
    "todo_item",
    "tool_kind",
    "tool_use_end",
]
