"""Links of the package, from the address of the repository that it is built in.

Only a public `https` or `ssh` remote called `origin` gives links, and never the user name or
password in it. Anywhere else, as in an image or in an archive of the sources, there are none: a
wheel that is built from an sdist has the links that the sdist has.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!/)(.+)")
"""The short form of an ssh address: `git@host:owner/name.git`."""
NOT_PUBLIC = "example|home|internal|invalid|lan|local|localhost|test"
HOST = re.compile(rf"(?:[a-z0-9-]+\.)+(?!(?:{NOT_PUBLIC})$)[a-z]{{2,}}")
PATH = re.compile(r"[\w.~-]+(?:/[\w.~-]+)+")
FILES = {"github.com": "", "gitlab.com": "/-"}
"""Hosts whose addresses of files are known, and what precedes such a path."""


def links_to(remote: str) -> dict[str, str]:
    """The links to the repository with this address; none if it is not public."""
    if (scp := SCP.fullmatch(remote)) is not None:
        remote = f"ssh://{scp[1]}/{scp[2]}"
    scheme, _, rest = remote.partition("://")
    place, _, path = rest.partition("/")
    host = place.rpartition("@")[2].lower()  # without the user name and password
    host = host.partition(":")[0] if scheme == "ssh" else host
    path = path.removesuffix("/").removesuffix(".git")
    if scheme not in ("https", "ssh") or not HOST.fullmatch(host) or not PATH.fullmatch(path):
        return {}
    home = f"https://{host}/{path}"
    links = {"Homepage": home, "Issues": f"{home}/issues"}
    if (before := FILES.get(host)) is not None:
        links["Documentation"] = f"{home}{before}/tree/HEAD/docs"
        links["Changelog"] = f"{home}{before}/blob/HEAD/CHANGELOG.md"
    return links


def origin_of(root: Path) -> str:
    """The address of the remote `origin`, "" if this is no clone or has no such remote."""
    if not (root / ".git").exists():  # else git would look for a repository around it
        return ""
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # git is not installed
        return ""


class Links(MetadataHookInterface):
    """Adds the links, which `pyproject.toml` declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["urls"] = links_to(origin_of(Path(self.root)))
