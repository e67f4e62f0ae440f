"""What is installed is named to the byte: no release of tomorrow changes what a clone installs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXACT = re.compile(r"(npm:@?[\w./-]+@)?\d+\.\d+\.\d+(-[\w.]+)?")
REQUIREMENT = re.compile(r"^[A-Za-z0-9]\S*==\S+.*?(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL)

OF_AGENTS = sorted(ROOT.glob("agents/*/requirements.txt"))
each_lock = pytest.mark.parametrize(
    "lock",
    [*sorted(ROOT.glob("requirements/*.txt")), *OF_AGENTS],
    ids=lambda lock: str(lock.relative_to(ROOT)),
)
each_package = pytest.mark.parametrize("folder", ["tests/clients", "web"])


@each_lock
def test_every_requirement_has_a_version_and_hashes(lock: Path) -> None:
    text = lock.read_text()
    requirements = [match.group() for match in REQUIREMENT.finditer(text)]
    assert requirements
    assert len(requirements) == len(re.findall(r"^[^\s#]", text, re.MULTILINE))
    assert [found for found in requirements if "--hash=sha256:" not in found] == []


@each_lock
def test_a_lock_names_no_registry(lock: Path) -> None:
    assert "://" not in lock.read_text()


def versions_in(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def test_agents_have_the_versions_that_are_tested() -> None:
    tested = versions_in(ROOT / "requirements" / "frameworks.txt")
    assert {lock.parent for lock in OF_AGENTS} == {
        path.parent for path in ROOT.glob("agents/*/requirements.in")
    }
    for lock in OF_AGENTS:
        others = {
            name: version
            for name, version in versions_in(lock).items()
            if tested.get(name, version) != version
        }
        assert others == {}


def described(path: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / path).read_text())
    return loaded


@each_package
def test_npm_packages_are_named_by_exact_versions(folder: str) -> None:
    package = described(f"{folder}/package.json")
    groups = [package.get(group, {}) for group in ("dependencies", "devDependencies", "overrides")]
    versions = {name: version for group in groups for name, version in group.items()}
    assert {name for name, version in versions.items() if not EXACT.fullmatch(version)} == set()


@each_package
def test_npm_locks_hold_hashes_and_run_no_scripts(folder: str) -> None:
    packages = described(f"{folder}/package-lock.json")["packages"]
    own = packages.pop("")
    assert own["name"]
    assert [name for name, about in packages.items() if not about.get("integrity")] == []
    assert [name for name, about in packages.items() if "resolved" in about] == []
    assert [name for name, about in packages.items() if about.get("hasInstallScript")] == []


def test_the_build_backend_has_an_upper_bound() -> None:
    """`pip install` from a clone fetches it: the next major version may not read our settings."""
    settings = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'requires = \["hatchling>=[\d.]+,<2"\]', settings)
