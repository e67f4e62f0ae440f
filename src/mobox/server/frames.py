"""A log as the bytes of one response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from mobox.delivery import sse
from mobox.events import Done, LogEntry
from mobox.formatters import Formatter, format_all, joining
from mobox.storage.log import Log, RunId, pages

__all__ = ["frames"]


async def frames(
    log: Log, run_id: RunId, formatter: Formatter, after: int = 0
) -> AsyncIterator[bytes]:
    """The frames of a run, from its start or after an entry, until it ends or waits.

    Entries up to `after` are only fed to the formatter, as the client has them already.
    """
    if after:
        async for page in pages(log, run_id, through=after):
            format_all(formatter, page)
        yield sse.encode(formatter.resume())
    join = joining(formatter)
    entries: Sequence[LogEntry] = ()
    async for entries in log.follow(run_id, after, through_pauses=False):
        if batch := sse.frame(join(entries, sse.BETWEEN)):
            yield batch
    if not entries or not isinstance(entries[-1].event, Done):
        yield sse.encode(formatter.pause())
