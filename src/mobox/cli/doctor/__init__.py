"""`mobox doctor`: checks this machine and the settings, and advises what to do."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mobox.cli.options import add_settings
from mobox.errors import InvalidSetting
from mobox.settings import read_settings

if TYPE_CHECKING:
    from mobox.cli.options import Commands


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "doctor",
        help="check the installation, the settings and the agents",
        description="Checks what `mobox serve` needs, with the same options and variables: one "
        "line per finding, and what to do. Changes nothing. Exits with 1 if a check fails.",
        allow_abbrev=False,  # --agent and --agents
    )
    command.add_argument(
        "--online", action="store_true", help="also call the providers' lists of models"
    )
    command.add_argument("--json", action="store_true", help="write the findings as JSON lines")
    add_settings(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check, and print each finding as soon as it is there."""
    import asyncio  # other commands do not need it

    from mobox.cli.doctor.findings import Finding, Report
    from mobox.cli.doctor.probes import Context, findings

    report = Report(sys.stdout, as_json=arguments.json)
    try:
        settings = read_settings(os.environ, vars(arguments))
    except InvalidSetting as error:
        report.add(Finding("fail", "settings", str(error), "correct the option or the variable"))
        return report.end()
    context = Context(replace(settings, beside=Path()), is_online=arguments.online)

    async def check() -> None:
        async for finding in findings(context):
            report.add(finding)

    asyncio.run(check())
    return report.end()
