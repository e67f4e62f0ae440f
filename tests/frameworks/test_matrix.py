"""Every framework in every scenario; what it cannot do is declared and stays true."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from frameworks.adapters import ADAPTERS
from frameworks.matrix import SCENARIOS, Adapter, Case, Provider, Scenario
from frameworks.stage import Stage


@contextmanager
def at_work(adapter: Adapter, python: Path, folder: Path) -> Iterator[tuple[Provider, Stage]]:
    with adapter.provider(adapter.scripts()) as provider:
        stage = adapter.stage(folder, python, provider)
        try:
            yield provider, stage
        finally:
            stage.close()


@pytest.fixture(scope="module", params=ADAPTERS, ids=lambda adapter: adapter.folder)
def shared(
    request: pytest.FixtureRequest, frameworks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Adapter, Provider, Stage]]:
    """A framework with its provider and a server, for all its scenarios."""
    adapter: Adapter = request.param
    with at_work(adapter, frameworks, tmp_path_factory.mktemp(adapter.folder)) as (provider, stage):
        yield adapter, provider, stage


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_framework_passes_scenario_or_says_why_not(
    shared: tuple[Adapter, Provider, Stage], scenario: Scenario
) -> None:
    adapter, provider, stage = shared
    name = f"{adapter.folder}-{scenario.name}".replace("_", "-")
    case = Case(adapter, stage, stage.chat(name), provider)
    if scenario.name not in adapter.cannot:
        scenario.run(case)
        return
    with pytest.raises((AssertionError, ValueError)):
        scenario.run(case)


def test_cells_that_are_declared_impossible_name_scenarios_and_reasons() -> None:
    names = {scenario.name for scenario in SCENARIOS}
    for adapter in ADAPTERS:
        assert adapter.cannot.keys() <= names
        assert all(reason.endswith(".") for reason in adapter.cannot.values())
