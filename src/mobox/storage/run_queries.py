"""The parts of the query for a list of runs that all databases have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mobox.storage.chats import write_cursor
from mobox.storage.run_lists import (
    FAILED,
    STOPPED,
    ListedRun,
    RunFilter,
    RunOrder,
    RunOutcome,
    RunPage,
)
from mobox.storage.tables import MOST, RUN, Fold, run_of

_REASON: Final = "run.status = 'done' AND coalesce(run.reason, '')"
_OUTCOMES: Final[dict[RunOutcome, str]] = {
    "running": "run.status = 'running'",
    "waiting": "run.status = 'waiting'",
    "failed": f"{_REASON} IN {FAILED}",
    "stopped": f"{_REASON} IN {STOPPED}",
    "done": f"{_REASON} NOT IN {FAILED + STOPPED}",
}

_NONE: Final = "run.n * 0"  # a plain 0 would be the place of a column
_TOKENS: Final = "coalesce(message.input_tokens, 0) + coalesce(message.output_tokens, 0)"
# An agent may report any cost, and a clock may go back; a cursor takes numbers from 0 to 10^18.
_MICRODOLLARS: Final = """
CAST(CASE WHEN message.cost_usd > 1e9 THEN 1e15 WHEN message.cost_usd > 0
    THEN message.cost_usd * 1e6 ELSE 0 END AS BIGINT)"""
_LENGTH: Final = """
CASE WHEN run.ended_at > run.started_at THEN run.ended_at - run.started_at ELSE 0 END"""
_KEYS: Final[dict[RunOrder, tuple[str, str]]] = {
    "newest": (_NONE, _NONE),
    "slowest": (_LENGTH, _NONE),
    "dearest": (_MICRODOLLARS, _TOKENS),
}
"""What a list is sorted by, before the number of the run; the greatest first."""

_COLUMNS: Final = "chat.title, message.input_tokens, message.output_tokens, message.cost_usd"
CURSOR: Final = 3
START: Final = (MOST, MOST, MOST)
"""The cursor of a list at its beginning."""


def list_query(filter_: RunFilter, owner: str, cursor: str, agent: str, limit: str) -> str:
    """The query, with the placeholders of these values; that of the cursor is a row."""
    first, second = _KEYS[filter_.order]
    conditions = [f"chat.owner = {owner}", f"({first}, {second}, run.n) < {cursor}"]
    if filter_.order == "slowest":
        conditions.append("run.status = 'done'")
    if filter_.outcome is not None:
        conditions.append(_OUTCOMES[filter_.outcome])
    if filter_.agent is not None:
        conditions.append(f"run.agent = {agent}")
    select, source = RUN.split("FROM", 1)
    return f"""
    {select}, {_COLUMNS}, {first}, {second}
    FROM {source} LEFT JOIN message ON message.run = run.n
    WHERE {" AND ".join(conditions)}
    ORDER BY {first} DESC, {second} DESC, run.n DESC LIMIT {limit}
    """


def run_page(rows: Sequence[Sequence[Any]], limit: int) -> RunPage:
    """The page of rows of that query: one row more than `limit` means that there are more."""
    more = None
    if len(rows) > limit:
        last = rows[limit - 1]
        more = write_cursor(last[-2], last[-1], last[0])
    return RunPage(runs=tuple(map(_listed, rows[:limit])), before=more)


def _listed(row: Sequence[Any]) -> ListedRun:
    *run, title, input_tokens, output_tokens, cost, _, _ = row
    return ListedRun(
        run=run_of(run),
        title=title,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=cost,
    )


def usage_columns(made: Fold) -> tuple[int | None, int | None, float | None]:
    """The columns `input_tokens`, `output_tokens` and `cost_usd` of a message."""
    usage = made.folded.usage
    return (None, None, None) if usage is None else (usage.input, usage.output, usage.cost_usd)
