"""The checks of `mobox doctor`: a table, one function each.

Rule 1: a check tries what it is about, and changes nothing.
Rule 2: a check that fails in an unexpected way is a finding, too; the others go on.
Rule 3: no key and no password is in a finding: variables are named, and addresses masked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

from mobox.cli.doctor import agents, databases, machine, models, sandboxes
from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding
from mobox.errors import MoboxError

__all__ = ["PROBES", "Context", "Probe", "findings"]

_SECONDS: Final = 60


class Probe(NamedTuple):
    """A check, and the subject of a finding if it fails in an unexpected way."""

    subject: str
    check: Callable[[Context], AsyncIterator[Finding]]


PROBES: Final = (
    Probe("python", machine.check_python),
    Probe("packages", machine.check_packages),
    Probe("uv", machine.check_uv),
    Probe("data", machine.check_data),
    Probe("database", databases.check_database),
    Probe("redis", databases.check_redis),
    Probe("port", machine.check_port),
    Probe("sandbox", sandboxes.check_sandboxes),
    Probe("model", models.check_models),
    Probe("agent", agents.check_agents),
)
"""All checks, in the order in which they are reported."""


async def findings(context: Context) -> AsyncIterator[Finding]:
    """The findings of all checks."""
    for probe in PROBES:
        try:
            async with asyncio.timeout(_SECONDS):
                async for finding in probe.check(context):
                    yield finding
        except TimeoutError:
            yield Finding("fail", probe.subject, f"the check took longer than {_SECONDS} s")
        except MoboxError as error:
            yield Finding("fail", probe.subject, str(error))
        except Exception as error:  # noqa: BLE001
            why = f"the check failed with {type(error).__name__}: {error}"
            yield Finding(
                "fail", probe.subject, why, "report this, with the output of mobox doctor"
            )
