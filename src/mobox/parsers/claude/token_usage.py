"""Token usage of messages, and of a session: the program's own total, or the sum over its turns.

Rule 1: `modelUsage` of a result counts the session so far, with all models and subagents.
Rule 2: `usage` of a result counts its turn, and only the root. Earlier turns and the usage of
        subagents' messages are added to it.
"""

from __future__ import annotations

from msgspec import convert

from mobox.events import JSON, Events, Usage
from mobox.events.usage import sum_counts
from mobox.parsers.claude import session_wire as lines
from mobox.parsers.claude import wire
from mobox.parsers.values import parse_or_raw


class SessionUsage:
    """The usage of one session."""

    def __init__(self) -> None:
        self._turns: list[Usage] = []
        self._subagents: dict[str | None, Usage] = {}  # by message, whose latest count holds

    def add_message(self, used: Usage) -> None:
        """Take the usage of a message."""
        if used.scope:
            self._subagents[used.id] = used

    def total(self, line: lines.Result) -> Events:
        """The session's usage so far, if the result has it."""
        models, turn, cost = line.model_usage, line.usage, line.total_cost_usd
        if models:
            return parse_or_raw(lambda: [_of_models(models, cost)], models)
        return parse_or_raw(lambda: self._of_turns(turn, cost), turn) if turn else []

    def _of_turns(self, raw: JSON, cost: float | None) -> Events:
        turn = usage_of(convert(raw, wire.Usage))
        if turn.input or turn.output:  # an interrupted turn reports zero
            self._turns.append(turn)
        uses = [*self._turns, *self._subagents.values()]
        return [_sum(uses, cost, turn.service_tier)] if self._turns else []


def usage_of(usage: wire.Usage) -> Usage:
    """The usage of a message or a turn; the cache counts as input."""
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    details = usage.output_tokens_details
    return Usage(
        input=sum_counts(usage.input_tokens, read, written),
        output=usage.output_tokens or 0,
        cache_read=read,
        cache_write=written,
        reasoning=details.thinking_tokens if details is not None else None,
        service_tier=usage.service_tier,
    )


def _sum(uses: list[Usage], cost: float | None, service_tier: str | None) -> Usage:
    return Usage(
        per="run",
        input=sum_counts(*(use.input for use in uses)),
        output=sum_counts(*(use.output for use in uses)),
        cache_read=_sum_of_known([use.cache_read for use in uses]),
        cache_write=_sum_of_known([use.cache_write for use in uses]),
        reasoning=_sum_of_known([use.reasoning for use in uses]),
        cost_usd=cost,
        service_tier=service_tier,
    )


def _sum_of_known(counts: list[int | None]) -> int | None:
    return None if all(count is None for count in counts) else sum_counts(*counts)


def _of_models(raw: JSON, cost: float | None) -> Usage:
    models = convert(raw, dict[str, lines.ModelUsage])
    uses = models.values()
    read = sum_counts(*(use.cache_read_input_tokens for use in uses))
    written = sum_counts(*(use.cache_creation_input_tokens for use in uses))
    return Usage(
        per="run",
        input=sum_counts(*(use.input_tokens for use in uses), read, written),
        output=sum_counts(*(use.output_tokens for use in uses)),
        cache_read=read,
        cache_write=written,
        reasoning=_sum_of_known([use.thinking_tokens for use in uses]),
        cost_usd=cost,
        model=next(iter(models)) if len(models) == 1 else None,
    )
