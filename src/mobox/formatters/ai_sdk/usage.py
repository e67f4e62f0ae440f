"""What a run has used so far, as the `data-usage` part tells it."""

from __future__ import annotations

from mobox.events import JSON, Result, Usage

__all__ = ["UsageTotal"]

_COUNTS = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cachedInputTokens": "cache_read",
    "cacheWriteTokens": "cache_write",
    "reasoningTokens": "reasoning",
    "totalTokens": "total",
    "costUsd": "cost_usd",
}


class UsageTotal:
    """The sum over the calls of a run, until the run itself names its total."""

    def __init__(self) -> None:
        self._calls: dict[str | None, Usage] = {}
        self._run: Usage | None = None
        self._result: dict[str, JSON] = {}

    def use(self, usage: Usage) -> None:
        """Usage is absolute per id: it replaces what was said under that id."""
        if usage.per == "run":
            self._run = usage
        else:
            self._calls[usage.id] = usage

    def end(self, result: Result) -> None:
        """The final statistics."""
        told = {
            "durationMs": result.duration_ms,
            "numTurns": result.num_turns,
            "costUsd": result.cost_usd,
        }
        self._result = {name: value for name, value in told.items() if value is not None}

    @property
    def data(self) -> dict[str, JSON]:
        """All of it, without what is not known; empty when nothing is."""
        if self._run is None and not self._calls and not self._result:
            return {}
        told = [self._run] if self._run is not None else list(self._calls.values())
        counts = {name: _sum(told, field) for name, field in _COUNTS.items()}
        known = {name: count for name, count in counts.items() if count is not None}
        return {**known, "isTotal": self._run is not None, **self._result}


def _sum(told: list[Usage], field: str) -> int | float | None:
    counts = [count for usage in told if (count := getattr(usage, field)) is not None]
    return sum(counts) if counts else None
