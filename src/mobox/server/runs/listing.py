"""The route that lists an owner's runs over all chats."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.errors import InvalidRequest
from mobox.events import DoneReason
from mobox.server.auth.principal import owner_of
from mobox.server.connected import while_connected
from mobox.server.paging import page_limit
from mobox.server.services import Services, json_response
from mobox.storage.run_lists import (
    ORDERS,
    OUTCOMES,
    ListedRun,
    RunFilter,
    RunOutcome,
    outcome_of,
)

T = TypeVar("T", bound=str)


class RunRow(Struct, rename="camel", kw_only=True):
    """A run in a list."""

    id: str
    chat_id: str
    title: str
    """Of its chat."""
    agent: str
    outcome: RunOutcome
    reason: DoneReason | None = None
    """Why it ended."""
    started_at: int
    ended_at: int | None = None
    events: int
    superseded: bool
    """Whether a later answer has replaced its message."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class RunList(Struct, kw_only=True):
    """A page of runs; `before` is the cursor of the next page."""

    runs: list[RunRow]
    before: str | None = None


async def list_runs(request: Request, services: Services) -> Response:
    """The owner's runs."""
    query = request.query_params
    filter_ = RunFilter(
        order=_one_of(query.get("order"), "order", ORDERS) or "newest",
        outcome=_one_of(query.get("outcome"), "outcome", OUTCOMES),
        agent=query.get("agent") or None,
    )
    reading = services.storage.list_runs(
        owner_of(request), filter_, query.get("before"), page_limit(request)
    )
    page = await while_connected(request, reading)
    return json_response(RunList(runs=[*map(_row, page.runs)], before=page.before))


def _one_of(value: str | None, name: str, allowed: tuple[T, ...]) -> T | None:
    """A query parameter; an empty one counts as missing."""
    found = next((each for each in allowed if each == value), None)
    if value and found is None:
        raise InvalidRequest(name, f"expected {', '.join(allowed)}, got {value[:20]!r}")
    return found


def _row(listed: ListedRun) -> RunRow:
    run = listed.run
    return RunRow(
        id=run.id,
        chat_id=run.chat_id,
        title=listed.title,
        agent=run.agent,
        outcome=outcome_of(run),
        reason=run.reason,
        started_at=run.started_at,
        ended_at=run.ended_at,
        events=run.tail_seq,
        superseded=run.superseded,
        input_tokens=listed.input_tokens,
        output_tokens=listed.output_tokens,
        cost_usd=listed.cost_usd,
    )
