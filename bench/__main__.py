"""`python -m bench [NAME ...]`: run benches, print their tables, draw them.

Every whole run is a process of its own, and only one runs at a time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from bench.figures import Bench, Samples, merge
from bench.report import Result, markdown, write_docs

BENCHES = {
    "transform": "bench.transform",
    "server": "bench.server",
    "tails": "bench.tails",
    "processes": "bench.processes",
    "start": "bench.start",
    "search": "bench.search",
    "reading": "bench.reading",
    "models": "bench.models",
    "web": "bench.web",
}
"""By the name that ONLY takes; each module is a `bench.figures.Bench`."""

REPORTS = Path(".reports")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, report; the exit code says nothing of targets: those are for people to judge."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.names) - BENCHES.keys():
        parser.error(f"no bench {', '.join(sorted(unknown))}; there are: {', '.join(BENCHES)}")
    if arguments.once:
        [name] = arguments.names
        json.dump(_load(name).measure(arguments.rounds), sys.stdout)
        return 0
    results = [_run(name, arguments) for name in arguments.names or BENCHES]
    report = markdown(results)
    sys.stdout.write(report)
    REPORTS.mkdir(exist_ok=True)
    (REPORTS / "bench.md").write_text(report, "utf-8")
    if arguments.write_docs:
        write_docs(results)
    from bench.plot import draw  # slow to import, and no whole run needs it

    draw(results, REPORTS / "bench.png")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Compare with the peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--runs", type=int, default=3, help="whole runs (default: 3)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds in a run (default: 15)")
    parser.add_argument("--write-docs", action="store_true", help="rewrite docs/performance.md")
    parser.add_argument("--once", action="store_true", help="one whole run, as JSON")
    return parser


def _run(name: str, arguments: argparse.Namespace) -> Result:
    bench = _load(name)
    runs = [_whole_run(name, arguments, number) for number in range(1, arguments.runs + 1)]
    values = merge(runs)
    missed = [
        f.key for f in bench.FIGURES if f.key in values and not f.is_met(values[f.key].median)
    ]
    why = bench.explain(missed) if missed else ""
    return Result(name, bench.TITLE, bench.FIGURES, values, bench.versions(), why)


def _whole_run(name: str, arguments: argparse.Namespace, number: int) -> Samples:
    sys.stderr.write(f"bench: {name}, run {number} of {arguments.runs}\n")
    command = [sys.executable, "-m", "bench", name, "--once", f"--rounds={arguments.rounds}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return cast(Samples, json.loads(done.stdout))


def _load(name: str) -> Bench:
    return cast(Bench, import_module(BENCHES[name]))


if __name__ == "__main__":
    sys.exit(main())
