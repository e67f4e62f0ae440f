"""The sales of a café, from a CSV file, as numbers over time."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any, Literal

UNITS = {"revenue": "EUR", "units": "pieces"}

Metric = Literal["revenue", "units"]
By = Literal["month", "quarter"]
Split = Literal["none", "store", "product", "year"]


def load_sales() -> list[dict[str, str]]:
    text = (Path(__file__).parent / "data" / "sales.csv").read_text("utf-8")
    return [{"none": "All", **row} for row in csv.DictReader(text.splitlines())]


def described(rows: list[dict[str, str]]) -> str:
    stores, products = (", ".join(sorted({row[n] for row in rows})) for n in ("store", "product"))
    months = f"monthly from {rows[0]['month']} to {rows[-1]['month']}"
    return f"{len(rows)} rows, {months}. Stores: {stores}. Products: {products}."


def analysed(rows: list[dict[str, str]], metric: Metric, by: By, split: Split) -> dict[str, Any]:
    """The sums, as a line for each value of `split`; lines of years share their months."""
    lines: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        x = row[by].removeprefix(row["year"]).strip("- ") if split == "year" else row[by]
        lines[row[split]][x] += float(row[metric])
    largest = sorted(lines, key=lambda name: -sum(lines[name].values()))
    title = f"{metric} by {by}" + ("" if split == "none" else f" and {split}")
    return {
        "title": f"{title.capitalize()} ({UNITS[metric]})",
        "x": list(next(iter(lines.values()))),
        "series": [{"name": n, "values": list(map(round, lines[n].values()))} for n in lines],
        "summary": "\n".join(summary(name, lines[name], UNITS[metric]) for name in largest),
    }


def summary(name: str, line: dict[str, float], unit: str) -> str:
    most, least = max(line, key=line.__getitem__), min(line, key=line.__getitem__)
    return (
        f"- **{name}**: {sum(line.values()):,.0f} {unit}, the most in {most} ({line[most]:,.0f}), "
        f"the least in {least} ({line[least]:,.0f})"
    )
