"""Parsers and formatters are found by name, whoever brings them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mobox import registry
from mobox.errors import (
    BrokenPlugin,
    NameTaken,
    UnknownFramework,
    UnknownName,
    UnknownProtocol,
)
from mobox.parsers import get_parser

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


def test_declared_entry_points_are_found(install: Install) -> None:
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


def test_unknown_name_without_candidates_is_reported() -> None:
    with pytest.raises(UnknownName, match="unknown name 'bee'; known: none"):
        registry.find("mobox.nobody", "bee", UnknownName)


def test_only_requested_names_are_imported(install: Install) -> None:
    install("mobox-extra", broken="mobox_nowhere:thing", dumps="json:dumps")
    assert registry.find(GROUP, "dumps", UnknownName) is json.dumps
    with pytest.raises(BrokenPlugin, match=r"'broken' .* mobox-extra is broken: .*mobox_nowhere"):
        registry.find(GROUP, "broken", UnknownName)


def test_plugin_of_the_wrong_shape_is_broken(install: Install) -> None:
    install("mobox-extra", dumps="json:dumps")
    with pytest.raises(BrokenPlugin, match="mobox-extra is broken: it has no PROFILES"):
        registry.find(GROUP, "dumps", UnknownName, "PROFILES", "__doc__")


def test_name_registered_by_two_packages_is_rejected(install: Install) -> None:
    install("mobox-more", dumps="json:dump")
    install("mobox-extra", dumps="json:dumps", loads="json:loads")
    with pytest.raises(NameTaken) as raised:
        registry.find(GROUP, "dumps", UnknownFramework)
    assert str(raised.value) == (
        "the framework 'dumps' cannot be used: registered by mobox-extra and mobox-more"
    )
    assert registry.find(GROUP, "loads", UnknownName) is json.loads


def test_our_own_names_cannot_be_taken_over(install: Install) -> None:
    install("impostor", "mobox.parsers", claude="json:dumps")
    with pytest.raises(NameTaken, match="registered by impostor and mobox"):
        get_parser("claude")
    assert get_parser("emitted").framework == "emitted"


def test_the_same_package_on_the_path_twice_is_one(install: Install) -> None:
    install("mobox-extra", dumps="json:dumps")
    sys.path.append(sys.path[-1])
    registry._registered.cache_clear()
    assert registry.find(GROUP, "dumps", UnknownName) is json.dumps
