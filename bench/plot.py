"""The figures as bars: a panel for each kind, with p10 to p90, the targets."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.figures import Figure, Value
from bench.report import Result

__all__ = ["draw"]

Rows = list[tuple[Figure, Value]]

INK, FAINT, GRID = "#1f2328", "#6e7781", "#e3e7eb"
MET, MISSED, UNJUDGED = "#4a90d9", "#e08a3c", "#b8cce0"
WHISKER = {"ecolor": INK, "elinewidth": 1.1, "capsize": 2.5, "alpha": 0.75}

# In inches.
WIDTH, LEFT, RIGHT = 10.0, 3.35, 2.25
TOP, ROW, BETWEEN, BOTTOM = 0.95, 0.34, 0.8, 0.7
FOOT = 150  # in characters


def draw(results: Sequence[Result], path: Path) -> None:
    """One picture of all panels of all results."""
    panels = [(title, rows) for result in results for title, rows in _panels(result).items()]
    heights = [ROW * len(rows) for _, rows in panels]
    height = TOP + sum(heights) + BETWEEN * len(panels) + BOTTOM - 0.35
    with mpl.rc_context({"font.size": 10, "text.color": INK, "font.family": "DejaVu Sans"}):
        canvas = Canvas(figsize=(WIDTH, height), facecolor="white")
        top = height - TOP
        for panel, (title, rows) in enumerate(panels):
            top -= heights[panel]
            axis = canvas.add_axes((LEFT / WIDTH, top / height, _plotted, heights[panel] / height))
            _bars(axis, title, rows)
            top -= BETWEEN
        _frame(canvas, height, results)
        canvas.savefig(path, dpi=150)


_plotted = (WIDTH - LEFT - RIGHT) / WIDTH


def _panels(result: Result) -> dict[str, Rows]:
    panels: dict[str, Rows] = {}
    for figure, value in result.measured():
        if figure.panel is not None:
            panels.setdefault(figure.panel, []).append((figure, value))
    return panels


def _bars(axis: Axes, title: str, rows: Rows) -> None:
    places = range(len(rows))
    medians = [value.median for _, value in rows]
    whiskers = [
        [max(0.0, value.median - value.low) for _, value in rows],
        [max(0.0, value.high - value.median) for _, value in rows],
    ]
    colours = [_colour(figure, value) for figure, value in rows]
    axis.barh(places, medians, height=0.66, color=colours, xerr=whiskers, error_kw=WHISKER)
    for place, (figure, value) in enumerate(rows):
        _annotate(axis, place, figure, value)
    _dress(axis, title, [figure.label for figure, _ in rows])
    if all(figure.unit == "x" for figure, _ in rows):
        axis.axvline(1, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0.9)
    axis.set_xlim(0, 1.04 * max(max(value.high, figure.target or 0) for figure, value in rows))


def _colour(figure: Figure, value: Value) -> str:
    if figure.target is None:
        return UNJUDGED
    return MET if figure.is_met(value.median) else MISSED


def _annotate(axis: Axes, place: int, figure: Figure, value: Value) -> None:
    beside = axis.get_yaxis_transform()  # x in parts of the axis, y in rows
    median = f"{value.median:.2f}{figure.suffix}"
    axis.text(1.19, place, median, transform=beside, va="center", ha="right", fontweight="bold")
    if figure.target is None:
        return
    axis.plot([figure.target] * 2, [place - 0.43, place + 0.43], color=INK, linewidth=2.2)
    verdict = "met" if figure.is_met(value.median) else "missed"
    axis.text(1.22, place, f"{figure.goal}  {verdict}", transform=beside, va="center", color=INK)


def _dress(axis: Axes, title: str, labels: list[str]) -> None:
    axis.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=7)
    axis.set_yticks(range(len(labels)), labels, color=INK)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.tick_params(length=0)
    axis.tick_params(axis="x", labelcolor=FAINT, labelsize=8.5)
    axis.grid(axis="x", color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[:].set_visible(False)


def _frame(canvas: Canvas, height: float, results: Sequence[Result]) -> None:
    canvas.text(0.02, 1 - 0.28 / height, "Mobox beside its peers", fontsize=14, fontweight="bold")
    legend = [
        Patch(color=MET, label="target met"),
        Patch(color=MISSED, label="target missed"),
        Patch(color=UNJUDGED, label="no target"),
        Line2D([], [], color=INK, linewidth=2.2, label="target"),
        Line2D([], [], color=INK, linewidth=1.1, alpha=0.75, label="p10 to p90"),
    ]
    place = (0.985, 1 - 0.08 / height)
    canvas.legend(
        handles=legend,
        ncols=5,
        frameon=False,
        fontsize=9,
        loc="upper right",
        bbox_to_anchor=place,
        handlelength=1.2,
        columnspacing=1.4,
    )
    compared = {name: version for result in results for name, version in result.versions.items()}
    told = "Median of the whole runs.  " + "  ·  ".join(f"{n} {v}" for n, v in compared.items())
    lines = textwrap.fill(told, FOOT, break_on_hyphens=False)
    canvas.text(0.02, 0.16 / height, lines, fontsize=8, color=FAINT)
