"""LangGraph's checkpoints in a SQLite file, for graphs that have no checkpointer of their own.

Rule 1: what a method has written, it has committed: a process that is killed at any moment leaves
        the last checkpoint that was complete, and the results of tasks that had ended.
Rule 2: a channel's value is stored once per version. Branches of a chat have different versions,
        because each has a random part.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    get_checkpoint_metadata,
)

__all__ = ["FileSaver"]

Config = Any

TABLES = """
create table if not exists checkpoint (
    thread text, ns text, id text, parent text, format text, data blob, about_format text,
    about blob, primary key (thread, ns, id)
) without rowid;
create table if not exists value (
    thread text, ns text, channel text, version text, format text, data blob,
    primary key (thread, ns, channel, version)
) without rowid;
create table if not exists write (
    thread text, ns text, checkpoint text, task text, number integer, channel text, format text,
    data blob, path text, primary key (thread, ns, checkpoint, task, number)
) without rowid;
"""


class FileSaver(BaseCheckpointSaver[str]):
    """A checkpointer; safe for threads, and for several processes with threads of their own."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._rows = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self._rows.executescript(TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._rows.close()

    # Read

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """The named checkpoint of a thread, or its latest one."""
        found = self._find(config, config["configurable"].get("checkpoint_ns", ""), 1)
        return next((self._tuple(row) for row in found), None)

    def list(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, the latest first."""
        left = limit if limit is not None else -1
        ns = config["configurable"].get("checkpoint_ns") if config else None
        latest = before["configurable"].get("checkpoint_id") if before else None
        for row in self._find(config, ns):
            about = self.serde.loads_typed(row[6:8])
            is_wanted = all(about.get(name) == value for name, value in (filter or {}).items())
            if left and is_wanted and (latest is None or row[2] < latest):
                left -= 1
                yield self._tuple(row)

    def _find(self, config: Config | None, ns: str | None, most: int = -1) -> Sequence[Any]:
        about = config["configurable"] if config else {}
        wanted = {"thread": about.get("thread_id"), "id": about.get("checkpoint_id"), "ns": ns}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " and ".join(f"{name} = :{name}" for name in given) or "true"
        query = f"select * from checkpoint where {where} order by id desc limit {most}"
        return self._read(query, given)

    def _read(self, query: str, given: Any) -> Sequence[Any]:
        with self._lock:
            return self._rows.execute(query, given).fetchall()

    def _tuple(self, row: Any) -> CheckpointTuple:
        thread, ns, name, parent = row[:4]
        checkpoint = self.serde.loads_typed(row[4:6])
        checkpoint["channel_values"] = self._values(thread, ns, checkpoint["channel_versions"])
        return CheckpointTuple(
            config=_config(thread, ns, name),
            checkpoint=checkpoint,
            metadata=self.serde.loads_typed(row[6:8]),
            parent_config=_config(thread, ns, parent) if parent else None,
            pending_writes=self._writes(thread, ns, name),
        )

    def _values(self, thread: str, ns: str, versions: dict[str, str]) -> dict[str, Any]:
        query = "select format, data from value where (thread, ns, channel, version) = (?, ?, ?, ?)"
        found = {}
        for channel, version in versions.items():
            for row in self._read(query, (thread, ns, channel, version)):
                found[channel] = self.serde.loads_typed(row)
        return found

    def _writes(self, thread: str, ns: str, checkpoint: str) -> Any:
        query = (
            "select task, channel, format, data from write"
            " where (thread, ns, checkpoint) = (?, ?, ?) order by path, task, number"
        )
        rows = self._read(query, (thread, ns, checkpoint))
        return [(row[0], row[1], self.serde.loads_typed(row[2:4])) for row in rows]

    # Write

    def put(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Config:
        """Store a checkpoint with the values that are new in it."""
        about = config["configurable"]
        thread, ns = about["thread_id"], about.get("checkpoint_ns", "")
        rest = {name: each for name, each in checkpoint.items() if name != "channel_values"}
        values = checkpoint["channel_values"]
        new = [
            (thread, ns, channel, version, *self.serde.dumps_typed(values[channel]))
            for channel, version in new_versions.items()
            if channel in values
        ]
        described = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
        row = (thread, ns, checkpoint["id"], about.get("checkpoint_id"))
        with self._lock, self._rows:
            self._rows.executemany("replace into value values (?, ?, ?, ?, ?, ?)", new)
            whole = (*row, *self.serde.dumps_typed(rest), *described)
            self._rows.execute("replace into checkpoint values (?, ?, ?, ?, ?, ?, ?, ?)", whole)
        return _config(thread, ns, checkpoint["id"])

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task has written; only errors and interrupts replace an earlier write."""
        about = config["configurable"]
        place = (about["thread_id"], about.get("checkpoint_ns", ""), about["checkpoint_id"])
        rows = []
        for number, (channel, value) in enumerate(writes):
            known = WRITES_IDX_MAP.get(channel, number)
            stored = self.serde.dumps_typed(value)
            rows.append((*place, task_id, known, channel, *stored, task_path))
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        insert = "replace" if replaces else "insert or ignore"
        with self._lock, self._rows:
            query = f"{insert} into write values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            self._rows.executemany(query, rows)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all of a thread."""
        with self._lock, self._rows:
            for table in ("checkpoint", "value", "write"):
                self._rows.execute(f"delete from {table} where thread = ?", (thread_id,))

    def get_next_version(self, current: Any, channel: None) -> str:
        """The version after `current`: a number, and a random part."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.getrandbits(64):016x}"

    # In an event loop: a commit waits for the disk

    async def aget_tuple(self, config: Config) -> CheckpointTuple | None:
        """See `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: Config | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        for each in await asyncio.to_thread(lambda: [*self.list(config, **options)]):
            yield each

    async def aput(self, *arguments: Any) -> Config:
        """See `put`."""
        return await asyncio.to_thread(self.put, *arguments)

    async def aput_writes(self, *arguments: Any) -> None:
        """See `put_writes`."""
        await asyncio.to_thread(self.put_writes, *arguments)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)


def _config(thread: str, ns: str, checkpoint: str) -> Config:
    names = {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}
    return {"configurable": names}
