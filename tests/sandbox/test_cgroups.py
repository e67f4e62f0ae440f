"""The groups that limit agents: that their limits hold, and which groups a server removes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mobox.sandbox.cgroups import PREFIX, Cgroups, NoCgroups, find_cgroups
from support.sandboxed import need_bubblewrap

ROOT = Path(__file__).parents[2]
NEEDED = {"memory", "pids", "cpu"}
# In a process of its own: one that uses version 2 moves itself into a group for the server.
LIMITED = """
import sys, pytest
from mobox.sandbox.process import enforcement
print("memory:", enforcement()["memory"])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]]))
"""
TESTS = "tests/sandbox/test_bubblewrap.py::test_a_limit_ends_the_agent"


@pytest.mark.parametrize("version", [1, 2])
def test_agents_are_limited_by_groups(version: int) -> None:
    need_bubblewrap()
    with {1: group_of_version_1, 2: group_of_version_2}[version]() as group:
        output = run_in(group, sys.executable, "-c", LIMITED, TESTS)
        assert f"memory: cgroup v{version}\n" in output
        assert "4 passed" in output
        if version == 2:  # with version 1 other servers may have groups there, too
            assert [path for path in group.glob(f"{PREFIX}*-*") if path.is_dir()] == []


def run_in(group: Path, *command: str) -> str:
    """The output of a command that is in this group."""
    done = subprocess.run(
        ["sh", "-c", 'echo $$ > "$0" && exec "$@"', group / "cgroup.procs", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def group_of_version_1() -> Iterator[Path]:
    """The group of memory of this process, where the server makes those of its agents."""
    try:
        found = find_cgroups() if not is_version_2() else None
    except NoCgroups as problem:
        pytest.skip(str(problem))
    if found is None:
        pytest.skip("the controllers of this machine belong to cgroup v2")
    yield found.bases["memory"]


@contextmanager
def group_of_version_2() -> Iterator[Path]:
    """A group of its own, as a service manager delegates one to a server."""
    if not is_version_2():
        pytest.skip(
            "the controllers memory, pids and cpu of this machine do not belong to cgroup v2"
        )
    root = mount_of_version_2()
    assert root is not None
    group = root / f"tests-{os.getpid()}"
    try:
        (root / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in NEEDED))
        group.mkdir()
    except OSError as problem:
        pytest.skip(f"no cgroups can be made: {problem}")
    try:
        yield group
    finally:
        for path in (*group.glob("*/"), group):
            path.rmdir()


def is_version_2() -> bool:
    root = mount_of_version_2()
    return root is not None and set((root / "cgroup.controllers").read_text().split()) >= NEEDED


def mount_of_version_2() -> Path | None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return Path(where)
    return None


def test_only_groups_of_servers_that_are_gone_are_swept(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = tmp_path / f"mobox-{gone.pid}-0011aabb"
    ours, others = tmp_path / f"mobox-{os.getpid()}-0011aabb", tmp_path / f"mobox-{os.getppid()}-1"
    server, foreign = tmp_path / "mobox-server", tmp_path / "mobox-app-1"
    for path in (left, ours, others, server, foreign):
        path.mkdir()
    Cgroups(2, {"memory": tmp_path, "pids": tmp_path, "cpu": tmp_path}).sweep()
    assert sorted(tmp_path.iterdir()) == sorted([ours, others, server, foreign])
