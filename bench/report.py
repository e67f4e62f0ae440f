"""The figures as Markdown: for the terminal, for .reports/bench.md and for the documentation."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Figure, Value

__all__ = ["Result", "markdown", "write_docs"]

DOCS = Path("docs/performance.md")


@dataclass(frozen=True)
class Result:
    """What a bench found."""

    name: str
    title: str
    figures: Sequence[Figure]
    values: Mapping[str, Value]
    versions: Mapping[str, str]
    why: str
    """Where the time goes, if a target was missed."""

    def measured(self) -> list[tuple[Figure, Value]]:
        """The figures that were found, in the order of the table."""
        return [(f, self.values[f.key]) for f in self.figures if f.key in self.values]


def markdown(results: Sequence[Result]) -> str:
    """The whole report."""
    return "\n".join(_section(result) for result in results)


def write_docs(results: Sequence[Result], path: Path = DOCS) -> None:
    """Put each bench's table between the marks that bear its name."""
    text = path.read_text("utf-8")
    for result in results:
        begin, end = (f"<!-- {word} bench: {result.name} -->" for word in ("begin", "end"))
        between = re.compile(f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", re.DOTALL)
        if len(between.findall(text)) != 1:
            raise RuntimeError(f"{path} needs the lines {begin} and {end}, once each")
        text = between.sub(_section(result).replace("\\", r"\\"), text)
    path.write_text(text, "utf-8")


def _section(result: Result) -> str:
    compared = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    about = f"Measured {datetime.now(UTC):%Y-%m-%d} at {_commit()}. {compared}."
    parts = [f"## {result.title}", _table(result), about]
    return "\n\n".join([*parts, result.why] if result.why else parts) + "\n"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "an unknown commit"


def _table(result: Result) -> str:
    rows = [_row(figure, value) for figure, value in result.measured()]
    head = "| figure | median of runs | p10 to p90 | runs | target | |"
    return "\n".join([head, "|---|--:|--:|---|--:|---|", *rows])


def _row(figure: Figure, value: Value) -> str:
    runs = ", ".join(f"{run:.2f}" for run in value.runs)
    spread = f"{value.low:.2f} to {value.high:.2f}"
    median = f"**{value.median:.2f}{figure.suffix}**"
    cells = (figure.label, median, spread, runs, figure.goal, _verdict(figure, value))
    return "| " + " | ".join(cells) + " |"


def _verdict(figure: Figure, value: Value) -> str:
    if figure.target is None:
        return ""
    return "met" if figure.is_met(value.median) else "**missed**"
