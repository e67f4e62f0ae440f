"""A store in a SQLite file, with nothing to set up."""

from mobox.storage.sqlite.storage import SqliteStorage

__all__ = ["SqliteStorage"]
