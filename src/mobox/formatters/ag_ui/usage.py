"""The usage of a run, as TokenUsage: one for each model."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, Result, Usage
from mobox.formatters.fields import known
from mobox.usage import Totals, UsageTotal

__all__ = ["ModelUsage"]

_MOST: Final = 2**53 - 1
"""Maximum number of models: a client that gets more ends the run."""


class ModelUsage:
    """Adds up USAGE and RESULT, for the run and by model."""

    def __init__(self) -> None:
        self._total = UsageTotal()
        self._models: dict[str | None, UsageTotal] = {}

    def add(self, event: Usage | Result) -> None:
        """Take an event about usage."""
        self._total.add(event)
        if isinstance(event, Usage):
            self._models.setdefault(event.model, UsageTotal()).add(event)

    @property
    def so_far(self) -> dict[str, JSON] | None:
        """All known counts, for a page that shows them during the run."""
        totals = self._total.totals
        if totals is None:
            return None
        about = {
            "costUsd": totals.cost_usd,
            "isTotal": totals.is_total,
            "durationMs": totals.duration_ms,
            "numTurns": totals.num_turns,
        }
        return _tokens(totals) | known(about)

    @property
    def by_model(self) -> list[dict[str, JSON]] | None:
        """The usage by model, if the run reports no total of its own; `None` if there is none."""
        totals = self._total.totals
        named = [model for model in self._models if model is not None]
        if totals is not None and totals.is_total:
            entries = [_entry(totals, named[0] if len(named) == 1 else None)]
        else:
            entries = [_entry(total.totals, model) for model, total in self._models.items()]
        return [entry for entry in entries if entry] or None


def _entry(totals: Totals | None, model: str | None) -> dict[str, JSON]:
    tokens = _tokens(totals) if totals is not None else {}
    return known({"model": model, **tokens}) if tokens else {}


def _tokens(totals: Totals) -> dict[str, JSON]:
    """Cached and reasoning tokens are included in the totals, in AG-UI's usage as in ours."""
    about = {
        "inputTokens": totals.input,
        "outputTokens": totals.output,
        "totalTokens": totals.total,
        "reasoningTokens": totals.reasoning,
        "cachedInputTokens": totals.cache_read,
        "cacheWriteInputTokens": totals.cache_write,
    }
    return {name: min(count, _MOST) for name, count in about.items() if count is not None}
