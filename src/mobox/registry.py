"""Finds parsers, formatters and sandboxes by name, and the packages of optional extras.

A package adds a framework or a protocol by declaring an entry point in the group of its folder
(`mobox.parsers`, `mobox.formatters`); nothing here knows one by name.

Rule 1: a name belongs to one package, ours included: a name that two register can't be used.
Rule 2: plugins are loaded on first use; one that cannot be loaded does not affect the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mobox.errors import BrokenPlugin, NameTaken, NotInstalled, UnknownName


@cache  # reading the metadata of every installed package takes milliseconds
def _registered(group: str) -> dict[str, dict[str, EntryPoint]]:
    """The entry points of a group, by name."""
    registered: dict[str, dict[str, EntryPoint]] = defaultdict(dict)
    for entry in entry_points(group=group):
        package = entry.dist.name if entry.dist is not None else entry.module
        registered[entry.name][package] = entry
    return registered


def names(group: str) -> list[str]:
    """The names registered in `group`, sorted."""
    return sorted(_registered(group))


def find(group: str, name: str, unknown: type[UnknownName], *needs: str) -> Any:
    """The object registered as `name` in `group`, which has the attributes that it `needs`.

    Raises `unknown`, which lists the known names, and `NameTaken` or `BrokenPlugin` for one that
    cannot be used.
    """
    registered = _registered(group)
    if name not in registered:
        raise unknown(name, registered)
    if len(registered[name]) > 1:
        raise NameTaken(unknown.kind, name, registered[name])
    [(package, entry)] = registered[name].items()
    try:
        found = entry.load()
    except Exception as error:  # a plugin's module may raise anything on import
        raise BrokenPlugin(unknown.kind, name, package, repr(error)) from error
    if missing := [attribute for attribute in needs if not hasattr(found, attribute)]:
        raise BrokenPlugin(unknown.kind, name, package, f"it has no {', '.join(missing)}")
    return found


@contextmanager
def needs_extra(extra: str, wanted: str) -> Iterator[None]:
    """Import modules that need the packages of an extra; `NotInstalled` if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "mobox":
            raise
        raise NotInstalled(wanted, error.name, extra) from None
