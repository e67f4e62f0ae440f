"""What the author of a parser imports, beside `mobox.events` and `mobox.errors`.

docs/add-a-framework.md shows its use. The names are stable (docs/stability.md); the modules that
they come from are internal. Nothing in Mobox imports this module.
"""

from mobox.events.json_text import decode as decode_json
from mobox.events.names import Names as IdAllocator
from mobox.events.names import input_of as tool_use_end
from mobox.events.usage import sum_of as sum_counts
from mobox.parsers import EventParser, frameworks, get_parser
from mobox.parsers.emitted.lines import Form as LineForm
from mobox.parsers.formats import Format, Shape
from mobox.parsers.formats import having as has_keys
from mobox.parsers.formats import kinds as kind_in
from mobox.parsers.formats import prefixed as kind_starts_with
from mobox.parsers.tool_kinds import CLAUDE as CLAUDE_DISPLAYS
from mobox.parsers.tool_kinds import LANGCHAIN as LANGCHAIN_DISPLAYS
from mobox.parsers.tool_kinds import change as todo_change
from mobox.parsers.tool_kinds import is_error as is_failed_output
from mobox.parsers.tool_kinds import item_of as todo_item
from mobox.parsers.tool_kinds import kind_of as tool_kind
from mobox.parsers.tool_kinds import pages_in as search_sources
from mobox.parsers.tool_kinds import runs_python
from mobox.parsers.tool_kinds import without_secrets as split_encrypted
from mobox.parsers.values import TOLD_BEFORE as ALREADY_REPORTED
from mobox.parsers.values import class_of as exception_class
from mobox.parsers.values import file_data as split_data_url
from mobox.parsers.values import is_link as is_web_url
from mobox.parsers.values import is_raised as is_exception
from mobox.parsers.values import object_of as as_object
from mobox.parsers.values import objects_in
from mobox.parsers.values import or_raw as parse_or_raw
from mobox.parsers.values import raised as exception_error
from mobox.parsers.values import text_in as first_text
from mobox.parsers.values import words_of as as_text

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
