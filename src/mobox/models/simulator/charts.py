"""Charts in the results of tools: JSON with a `placeholder`, by which an answer shows the chart.

docs/placeholders.md describes them. The `summary` beside it, if there is one, is told too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

PLACEHOLDER: Final = re.compile(r"<<\{.{1,1990}\}>>")


class Chart(Struct, frozen=True):
    """What an answer shows of one result."""

    placeholder: str
    title: str = ""
    summary: str = ""


def chart_in(text: str) -> Chart | None:
    """The chart of a result, if it has one."""
    try:
        chart = msgspec.json.decode(text, type=Chart)
    except msgspec.DecodeError:
        return None
    return chart if PLACEHOLDER.fullmatch(chart.placeholder) else None


def charts_in(texts: Iterable[str]) -> list[Chart]:
    """The charts of all results."""
    return [chart for text in texts if (chart := chart_in(text)) is not None]
