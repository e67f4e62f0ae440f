"""The route for the runs of a chat: who answered, when, and with how many tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from mobox.events import DoneReason
from mobox.events.usage import Totals
from mobox.server.auth.principal import owner_of
from mobox.server.services import Services, json_response
from mobox.storage.chats import RunFacts
from mobox.storage.log import Status

N = TypeVar("N", int, float)


class TokenCounts(Struct, rename="camel", kw_only=True):
    """Tokens; `null` where nothing is known. Input includes the cache, output the reasoning."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


class RunRow(Struct, rename="camel", kw_only=True):
    """A run of a chat: the answer whose message has the same id."""

    id: str
    agent: str
    status: Status
    reason: DoneReason | None = None
    started_at: int
    ended_at: int | None = None
    is_chosen: bool
    """Whether it is in the chosen branch."""
    model: str | None = None
    """Known when the run has ended, if the agent names it."""
    simulated: bool = False
    usage: TokenCounts | None = None
    context_tokens: int | None = None
    """The tokens of the last call of this model."""
    context_window: int | None = None
    """How many tokens the model can take, if that is known."""


class RunList(Struct, rename="camel", kw_only=True):
    """The runs of a chat, oldest first, and the tokens of all of them."""

    runs: list[RunRow]
    totals: TokenCounts
    """Of all branches. A simulated model costs nothing."""


async def list_runs(request: Request, services: Services) -> Response:
    """All runs of a chat."""
    facts = await services.storage.run_facts(owner_of(request), request.path_params["chat_id"])
    rows = [_row(each, services) for each in facts]
    return json_response(RunList(runs=rows, totals=_totals(facts)))


def _row(facts: RunFacts, services: Services) -> RunRow:
    run, model = facts.run, facts.model
    return RunRow(
        id=run.id,
        agent=run.agent,
        status=run.status,
        reason=run.reason,
        started_at=run.started_at,
        ended_at=run.ended_at,
        is_chosen=not run.superseded,
        model=model,
        simulated=facts.simulated,
        usage=None if facts.usage is None else _counts(facts.usage),
        context_tokens=facts.context,
        context_window=None if model is None else services.models.window(model),
    )


def _counts(usage: Totals) -> TokenCounts:
    return TokenCounts(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cached_input_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        reasoning_tokens=usage.reasoning,
        cost_usd=usage.cost_usd,
    )


def _totals(facts: Sequence[RunFacts]) -> TokenCounts:
    known = [each.usage for each in facts if each.usage is not None]
    paid = [each.usage for each in facts if each.usage is not None and not each.simulated]
    return TokenCounts(
        input_tokens=_sum(usage.input for usage in known),
        output_tokens=_sum(usage.output for usage in known),
        cached_input_tokens=_sum(usage.cache_read for usage in known),
        cache_write_tokens=_sum(usage.cache_write for usage in known),
        reasoning_tokens=_sum(usage.reasoning for usage in known),
        cost_usd=_sum(usage.cost_usd for usage in paid),
    )


def _sum(counts: Iterable[N | None]) -> N | None:
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None
