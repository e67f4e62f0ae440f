"""Migrations of a database's schema.

Rule 1: a migration is a numbered file that never changes once released; each is one transaction.
Rule 2: a database written by a later version is not changed.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable

from msgspec import Struct

from mobox.errors import DatabaseTooNew

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(Struct, frozen=True):
    """One step of the schema."""

    version: int
    name: str
    sql: str


def read_migrations(folder: Traversable) -> list[Migration]:
    """All migrations of this version, in order."""
    found = []
    for file in folder.iterdir():
        if match := _FILE.fullmatch(file.name):
            sql = file.read_text(encoding="utf-8")
            found.append(Migration(int(match[1]), match[2], sql))
    return sorted(found, key=lambda migration: migration.version)


def check_version(found: int, newest: int) -> int:
    """The version found in a database; `DatabaseTooNew` if a later mobox wrote it."""
    if found > newest:
        raise DatabaseTooNew(found, newest)
    return found
