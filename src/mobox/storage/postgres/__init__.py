"""A store in a PostgreSQL database, for many processes."""

from mobox.storage.postgres.storage import PostgresStorage

__all__ = ["PostgresStorage"]
