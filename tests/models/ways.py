"""The ways to a simulated model, each as the environment variables of an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from anyio.from_thread import start_blocking_portal

from mobox.models.config import ModelsConfig
from mobox.models.gateway import CallReport
from mobox.models.providers import PROVIDERS
from mobox.models.simulator import load_script
from models.served_gateway import pointing_to, served_gateway
from models.simulator.live import mobox_sim

DIRECT = "direct"


class Ways(NamedTuple):
    environments: Mapping[str, Mapping[str, str]]
    reports: tuple[list[CallReport], list[CallReport]]
    """Of the calls that the gateway has passed on, and of those that it has answered itself."""


@contextmanager
def ways_to(script: Path, folder: Path) -> Iterator[Ways]:
    """Directly, through the gateway as a provider, and the simulator inside of the gateway."""
    inside = ModelsConfig(PROVIDERS, {}, script=load_script(script))
    with mobox_sim("--script", script) as url, start_blocking_portal() as portal:
        variables = pointing_to(url)
        passing = served_gateway(folder / "passing", variables)
        simulating = served_gateway(folder / "simulating", {}, inside)
        with (
            portal.wrap_async_context_manager(passing) as through,
            portal.wrap_async_context_manager(simulating) as within,
        ):
            environments = {
                DIRECT: {**variables, "GEMINI_API_BASE": f"{url}/v1beta"},
                "through the gateway": dict(through.grant().env),
                "inside of the gateway": dict(within.grant().env),
            }
            yield Ways(environments, (through.reports, within.reports))
