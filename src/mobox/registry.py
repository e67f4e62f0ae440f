"""Finds parsers and formatters by name, through entry points.

A package adds a framework or a protocol by declaring an entry point in the group of its folder
(`mobox.parsers`, `mobox.formatters`); nothing here knows one by name.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mobox.errors import UnknownName

__all__ = ["find", "names"]


@cache  # reading the metadata of every installed package takes milliseconds
def _registered(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def names(group: str) -> list[str]:
    """The names registered in `group`, sorted."""
    return sorted(_registered(group))


def find(group: str, name: str, unknown: type[UnknownName]) -> Any:
    """The object registered as `name` in `group`; raises `unknown`, which lists what there is."""
    registered = _registered(group)
    if name not in registered:
        raise unknown(name, registered)
    return registered[name].load()
