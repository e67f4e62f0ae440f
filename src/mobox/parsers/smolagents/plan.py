"""The steps that a plan's text lists: smolagents has the model write it as prose."""

from __future__ import annotations

import re
from typing import Final

from mobox.events import TodoItem

__all__ = ["items_of"]

_HEADING: Final = re.compile(r"^#+ .*\bplan\b.*$", re.IGNORECASE | re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*])[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_END: Final = "<end_plan>"


def items_of(plan: str) -> tuple[TodoItem, ...]:
    """The list items of the section titled plan, else of the whole text; the rest are facts."""
    text = plan.partition(_END)[0]
    headings = list(_HEADING.finditer(text))
    listed = _ITEM.findall(text[headings[-1].end() :] if headings else text)
    return tuple(TodoItem(content=line) for line in listed)
