"""Parsers and formatters are found by name, whoever brings them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mobox import registry
from mobox.errors import UnknownFramework, UnknownName, UnknownProtocol

GROUP = "mobox.tests"

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Put packages with entry points, given as name="module:object", on the path."""
    before = list(sys.path)

    def install(package: str, group: str = GROUP, **entries: str) -> None:
        folder = tmp_path / package
        info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        sys.path.append(str(folder))
        registry._registered.cache_clear()

    yield install
    sys.path[:] = before
    registry._registered.cache_clear()


def test_what_a_package_declares_is_found(install: Install) -> None:
    install("mobox-extra", dumps="json:dumps")
    assert registry.find(GROUP, "dumps", UnknownName) is json.dumps


def test_a_part_of_an_object_can_be_declared(install: Install) -> None:
    install("mobox-extra", encode="json:JSONEncoder.encode")
    assert registry.find(GROUP, "encode", UnknownName) is json.JSONEncoder.encode


def test_names_are_sorted_over_all_packages(install: Install) -> None:
    install("mobox-extra", zebra="json:dumps", ant="json:loads")
    install("mobox-more", cat="json:load")
    assert registry.names(GROUP) == ["ant", "cat", "zebra"]


def test_groups_are_apart(install: Install) -> None:
    install("mobox-extra", dumps="json:dumps")
    install("mobox-more", "mobox.other_tests", loads="json:loads")
    assert registry.names(GROUP) == ["dumps"]


def test_a_group_may_be_empty() -> None:
    assert registry.names("mobox.nobody") == []


@pytest.mark.parametrize("unknown", [UnknownFramework, UnknownProtocol])
def test_an_unknown_name_lists_the_known_ones(install: Install, unknown: type[UnknownName]) -> None:
    install("mobox-extra", zebra="json:dumps", ant="json:loads")
    with pytest.raises(unknown) as raised:
        registry.find(GROUP, "bee", unknown)
    assert str(raised.value) == f"unknown {unknown.kind} 'bee'; known: ant, zebra"
    assert (raised.value.name, raised.value.known) == ("bee", ["ant", "zebra"])


def test_an_unknown_name_where_nothing_is_known_says_so() -> None:
    with pytest.raises(UnknownName, match="unknown name 'bee'; known: none"):
        registry.find("mobox.nobody", "bee", UnknownName)


def test_only_what_is_asked_for_is_imported(install: Install) -> None:
    install("mobox-extra", broken="mobox_nowhere:thing", dumps="json:dumps")
    assert registry.find(GROUP, "dumps", UnknownName) is json.dumps
    with pytest.raises(ModuleNotFoundError, match="mobox_nowhere"):
        registry.find(GROUP, "broken", UnknownName)
