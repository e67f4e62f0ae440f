"""The package's links are those of the clone that it is built in, or none."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from hatch_build import links_to, origin_of

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from hatchling import build
print(getattr(build, f"build_{sys.argv[1]}")(sys.argv[2]))
"""
GITHUB = {
    "Homepage": "https://github.com/owner/name",
    "Issues": "https://github.com/owner/name/issues",
    "Documentation": "https://github.com/owner/name/tree/HEAD/docs",
    "Changelog": "https://github.com/owner/name/blob/HEAD/CHANGELOG.md",
}


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/owner/name",
        "https://github.com/owner/name/",
        "https://github.com/owner/name.git",
        "https://GitHub.com/owner/name.git",
        "https://user@github.com/owner/name.git",
        "https://user:secret@github.com/owner/name.git",
        "https://us@er:sec@ret@github.com/owner/name.git",
        "git@github.com:owner/name.git",
        "github.com:owner/name.git",
        "ssh://git@github.com/owner/name.git",
        "ssh://git@github.com:22/owner/name.git",
    ],
)
def test_forms_of_a_public_address(remote: str) -> None:
    assert links_to(remote) == GITHUB


def test_other_hosts_have_the_links_that_are_known_to_work() -> None:
    assert links_to("git@gitlab.com:group/sub/name.git") == {
        "Homepage": "https://gitlab.com/group/sub/name",
        "Issues": "https://gitlab.com/group/sub/name/issues",
        "Documentation": "https://gitlab.com/group/sub/name/-/tree/HEAD/docs",
        "Changelog": "https://gitlab.com/group/sub/name/-/blob/HEAD/CHANGELOG.md",
    }
    assert links_to("https://codeberg.org/owner/name.git") == {
        "Homepage": "https://codeberg.org/owner/name",
        "Issues": "https://codeberg.org/owner/name/issues",
    }


@pytest.mark.parametrize(
    "remote",
    [
        "",
        "/srv/git/owner/name.git",
        "../name.git",
        "C:/repositories/owner/name.git",
        "file:///srv/git/owner/name.git",
        "http://github.com/owner/name.git",
        "git://github.com/owner/name.git",
        "git@gitea:owner/name.git",
        "https://localhost:3000/owner/name.git",
        "https://github.com:8443/owner/name.git",
        "https://127.0.0.1/owner/name.git",
        "ssh://git@10.0.0.7:2222/owner/name.git",
        "https://git.internal/owner/name.git",
        "https://git.example/owner/name.git",
        "https://github.com/name.git",
        "https://github.com/owner/name.git?token=secret",
        "https://github.com/owner/name\n[extra]",
    ],
)
def test_addresses_that_are_not_public_give_no_links(remote: str) -> None:
    assert links_to(remote) == {}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_folder_without_a_repository_of_its_own_has_no_origin(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert origin_of(tmp_path) == ""
    git(tmp_path, "remote", "add", "origin", "https://github.com/owner/name.git")
    assert origin_of(tmp_path) == "https://github.com/owner/name.git"
    inner = tmp_path / "unpacked"
    inner.mkdir()
    assert origin_of(inner) == ""


def test_machine_without_git_has_no_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert origin_of(tmp_path) == ""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a build needs of this repository, as a repository without a remote."""
    folder = tmp_path / "clone"
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        "src/mobox_shared.pth",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "src/mobox").mkdir()
    shutil.copy(ROOT / "src/mobox/__init__.py", folder / "src/mobox")
    shutil.copytree(ROOT / "agents/demo", folder / "agents/demo")
    git(folder, "init")
    return folder


def build(kind: str, folder: Path) -> Path:
    argv = [sys.executable, "-c", BUILD, kind, str(folder / "dist")]
    built = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True)
    return folder / "dist" / built.stdout.split()[-1]


def links_in(metadata: str) -> dict[str, str]:
    fields = Parser().parsestr(metadata).get_all("Project-URL", [])
    return dict(field.split(", ") for field in fields)


def links_of_wheel(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return links_in(archive.read(name).decode())


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_wheel_has_the_links_of_its_clone_without_credentials(clone: Path, kind: str) -> None:
    git(clone, "remote", "add", "origin", "https://user:secret@github.com/owner/name.git")
    wheel = build(kind, clone)
    assert links_of_wheel(wheel) == GITHUB
    assert b"secret" not in wheel.read_bytes()


def test_wheel_of_a_clone_without_a_public_remote_has_no_links(clone: Path) -> None:
    assert links_of_wheel(build("wheel", clone)) == {}


@pytest.mark.parametrize(
    ("remote", "links"),
    [("git@github.com:owner/name.git", GITHUB), ("/srv/git/name.git", {})],
)
def test_wheel_of_an_sdist_has_the_links_of_the_sdist(
    clone: Path, tmp_path: Path, remote: str, links: dict[str, str]
) -> None:
    git(clone, "remote", "add", "origin", remote)
    with tarfile.open(build("sdist", clone)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [folder] = (tmp_path / "unpacked").iterdir()
    assert links_in((folder / "PKG-INFO").read_text("utf-8")) == links
    assert links_of_wheel(build("wheel", folder)) == links
