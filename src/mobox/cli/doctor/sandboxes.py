"""Checks of the sandboxes: which of them work here, and which one agents get."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from mobox.cli.doctor.context import Context
from mobox.cli.doctor.findings import Finding
from mobox.errors import InvalidSetting
from mobox.registry import needs_extra

if TYPE_CHECKING:
    from mobox.supervisor.sandboxes import Chosen

SUBJECT: Final = "sandbox"


async def check_sandboxes(context: Context) -> AsyncIterator[Finding]:
    """Each registered sandbox, tried out; the chosen one first."""
    with needs_extra("server", "sandboxes"):
        from mobox.supervisor.sandboxes import names, tried
    default: Chosen | None = None
    try:
        default = (await asyncio.to_thread(lambda: context.sandboxes)).default
    except InvalidSetting as error:  # with which no server starts
        yield Finding("fail", SUBJECT, str(error), "change --sandbox or SANDBOX_BACKEND")
    else:
        yield _chosen(context, default)
    used = {context.settings.sandbox} | ({default.name} if default else set())
    for name in names():
        if name not in used:
            yield _other(name, await asyncio.to_thread(tried, name))


def _chosen(context: Context, chosen: Chosen) -> Finding:
    by = "by auto" if context.settings.sandbox == "auto" else "by the settings"
    text = f"{chosen.name}: works, chosen {by}; {chosen.limits()}"
    if chosen.sandbox.isolates:
        return Finding("ok", SUBJECT, text)
    text += "; agents are not isolated"
    if context.settings.is_local:
        return Finding("ok", SUBJECT, text)
    # Others than the operator send messages, which may lead an agent to anything.
    return Finding("warn", SUBJECT, text, chosen.reason or "use --sandbox bubblewrap")


def _other(name: str, found: Chosen | str) -> Finding:
    """One that is not used, so that nothing is wrong if it does not work."""
    if isinstance(found, str):
        return Finding("ok", SUBJECT, f"{name}: not used, and not available: {found}")
    return Finding("ok", SUBJECT, f"{name}: works (use it with --sandbox {name}); {found.limits()}")
