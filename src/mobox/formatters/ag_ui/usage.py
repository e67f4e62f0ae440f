"""What a run has used, as TokenUsage: one for each model."""

from __future__ import annotations

from typing import Final

from mobox.events import JSON, Result, Usage
from mobox.formatters.fields import known
from mobox.usage import Totals, UsageTotal

__all__ = ["ModelUsage"]

_MOST: Final = 2**53 - 1
"""A client that is told of more ends the run."""


class ModelUsage:
    """Adds up USAGE and RESULT, for the run and by model."""

    def __init__(self) -> None:
        self._total = UsageTotal()
        self._models: dict[str | None, UsageTotal] = {}

    def add(self, event: Usage | Result) -> None:
        """Take what was told of the use."""
        self._total.add(event)
        if isinstance(event, Usage):
            self._models.setdefault(event.model, UsageTotal()).add(event)

    @property
    def so_far(self) -> dict[str, JSON] | None:
        """All that is known, for a page that shows it while the run goes on."""
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
        """The use by model, if the run does not name its total itself; `None` if there is none."""
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
    """The parts, cached and reasoning, are in the totals: in AG-UI's usage as in ours."""
    about = {
        "inputTokens": totals.input,
        "outputTokens": totals.output,
        "totalTokens": totals.total,
        "reasoningTokens": totals.reasoning,
        "cachedInputTokens": totals.cache_read,
        "cacheWriteInputTokens": totals.cache_write,
    }
    return {name: min(count, _MOST) for name, count in about.items() if count is not None}
