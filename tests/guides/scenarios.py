"""What is tested of each client: a scenario per cell of the table."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect

from guides.cells import Scenario
from guides.world import World

__all__ = ["SCENARIOS", "run_cell"]


def send(world: World) -> None:
    tab = world.open()
    tab.send(world.slow)
    expect(tab.answers).to_contain_text("The first half.")  # while the agent still works
    world.gate.open()
    expect(tab.answers).to_contain_text("The second half.")
    tab.finish()


SCENARIOS: Final[dict[str, Scenario]] = {"send": send}


def run_cell(cell: str, world: World) -> None:
    """Run the client's own scenario of a cell, or the one of all clients."""
    (world.client.own.get(cell) or SCENARIOS[cell])(world)
