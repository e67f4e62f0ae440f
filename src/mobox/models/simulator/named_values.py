"""Values that a prompt names, for the inputs of tools: dates, quantities, and quoted titles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
DATE: Final = re.compile(
    rf"\b(\d{{4}})-(\d\d)-(\d\d)\b|\b(\d\d?)\.? ({'|'.join(MONTHS)}) (\d{{4}})\b", re.IGNORECASE
)
QUANTITY: Final = re.compile(r"\b(\d+(?:\.\d+)?) ?(°?[a-z]+) (?:to|into|in) (°?[a-z]+)\b", re.I)
QUOTED: Final = re.compile(r"“([^”]{2,80})”|\"([^\"]{2,80})\"")

IS_DATE: Final = re.compile(r"date|^(start|end|day|when|until)$")
IS_TITLE: Final = re.compile(r"(^|_)(title|name|label)$")


def named_values(prompt: str, properties: Iterable[str]) -> Mapping[str, str]:
    """The texts and numbers that a prompt has for these properties, in their order."""
    names = list(properties)
    found = dict(zip(filter(IS_DATE.search, names), dates_in(prompt), strict=False))
    quantity = QUANTITY.search(prompt)
    if quantity is not None:
        units = [name for name in names if name.endswith("unit")]
        found |= dict(zip(units, quantity.groups()[1:], strict=False))
        found |= dict.fromkeys(("amount", "quantity", "value"), quantity[1])
    quoted = QUOTED.search(prompt)
    if quoted is not None:
        found |= dict.fromkeys(filter(IS_TITLE.search, names), quoted[1] or quoted[2])
    return found


def dates_in(prompt: str) -> list[str]:
    """The dates of a prompt, as 2026-12-24."""
    return [_iso(date) for date in DATE.finditer(prompt)]


def _iso(date: re.Match[str]) -> str:
    if date[1]:
        return date[0]
    return f"{date[6]}-{MONTHS.index(date[5].lower()) + 1:02}-{int(date[4]):02}"
