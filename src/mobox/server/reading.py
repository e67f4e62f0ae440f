"""A log as the bytes of one response."""

from __future__ import annotations

from collections.abc import AsyncIterator

from mobox.delivery import sse
from mobox.events import Done, LogEntry
from mobox.formatters import Formatter, format_all
from mobox.storage.log import PAGE, Log, RunId

__all__ = ["frames"]


async def frames(
    log: Log, run_id: RunId, formatter: Formatter, after: int = 0
) -> AsyncIterator[bytes]:
    """A message from its first entry, or after one, to where it ends or waits.

    Before `after` the formatter is told everything and the client nothing: it has that already.
    """
    if after:
        await _replay(log, run_id, formatter, after)
        yield sse.encode(formatter.resume())
    last: LogEntry | None = None
    async for entries in log.follow(run_id, after, through_pauses=False):
        last = entries[-1]
        if told := sse.encode(format_all(formatter, entries)):
            yield told
    if last is None or not isinstance(last.event, Done):
        yield sse.encode(formatter.pause())


async def _replay(log: Log, run_id: RunId, formatter: Formatter, through: int) -> None:
    seen = 0
    while seen < through:
        entries = await log.read(run_id, seen, min(PAGE, through - seen))
        format_all(formatter, entries)
        seen = entries[-1].seq
