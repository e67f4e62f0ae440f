"""Queries that must not read whole tables are answered by an index."""

from __future__ import annotations

from pathlib import Path

from mobox.storage import Settings
from mobox.storage.postgres import retention as postgres_retention
from mobox.storage.postgres.database import connector, open_database
from mobox.storage.sqlite import retention
from mobox.storage.sqlite.database import open_database as open_file
from support.postgres_server import Databases

PAGE = "AND (updated_at, n) > ($2, $3) ORDER BY updated_at, n LIMIT 512"


def test_sqlite_finds_old_chats_by_an_index(tmp_path: Path) -> None:
    database = open_file(tmp_path / "mobox.db", Settings())
    find = f"EXPLAIN QUERY PLAN {retention._IDLE} ORDER BY updated_at, n"
    plan = " ".join(row[3] for row in database.execute(find, (1,)))
    database.close()
    assert "SEARCH chat USING INDEX chat_by_age" in plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan


async def test_postgres_finds_old_chats_by_an_index(postgres: Databases) -> None:
    url = await postgres.blank()
    await open_database(connector(url, 60))
    connection = await connector(url, 60)()
    await connection.execute("SET enable_seqscan = off")
    find = f"EXPLAIN {postgres_retention._IDLE} {PAGE}"
    plan = "\n".join(row[0] for row in await connection.fetch(find, 1, 0, 0))
    await connection.close()
    assert "chat_by_age" in plan, plan
