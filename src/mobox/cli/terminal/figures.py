"""Figures for people: durations, sizes, and the usage of a run."""

from __future__ import annotations

from typing import Final

from mobox.events.usage import Totals

_UNITS: Final = ("B", "KB", "MB", "GB")


def duration(ms: float) -> str:
    """Tenths below ten seconds, then whole seconds, then minutes."""
    if ms < 9950:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


def bytes_of(size: float) -> str:
    """A size with its unit."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.0f} {_UNITS[-1]}"


def usage_line(totals: Totals, ms: float | None, *, is_simulated: bool = False) -> str:
    """The usage of a run: tokens, cost and duration, as far as they are known.

    A simulated model has no cost: what an SDK estimates, nobody has paid.
    """
    facts = ["simulated model"] if is_simulated else []
    known = {"in": totals.input, "out": totals.output}
    counts = [(count, way) for way, count in known.items() if count is not None]
    if any(count for count, _ in counts):
        unit = "token" if counts[0][0] == 1 else "tokens"
        first, *rest = [f"{count:,} {way}" for count, way in counts]
        facts.append(", ".join([first.replace(" ", f" {unit} "), *rest]))
    if totals.cost_usd is not None and not is_simulated:
        is_small = 0 < totals.cost_usd < 1
        facts.append(f"${totals.cost_usd:.4f}" if is_small else f"${totals.cost_usd:.2f}")
    ms = totals.duration_ms if ms is None else ms
    if ms is not None:
        facts.append(duration(ms))
    return " · ".join(facts)
