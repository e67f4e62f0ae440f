"""The real nginx and Caddy before real servers, set up by what docs/deployment.md says."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from server.live_server import LIMIT, LiveServer, reserved_port

PAGE: Final = Path(__file__).parents[2] / "docs" / "deployment.md"
NAME: Final = "chat.example"
"""What the page calls the place."""
SERVERS: Final = ("127.0.0.1:8001", "127.0.0.1:8002")
PROXIES: Final = ("nginx", "caddy")


class Proxy(NamedTuple):
    """One that runs, and where."""

    name: str
    port: int
    certificate: Path | None = None
    """Where it speaks TLS: its own, which nobody signed."""

    @property
    def url(self) -> str:
        return f"http{'s' * bool(self.certificate)}://127.0.0.1:{self.port}"

    @property
    def host(self) -> str:
        """What a client calls it that was told its name."""
        return f"{NAME}:{self.port}"


def snippet(language: str) -> str:
    """What the page says, in the one block that it has for this."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return str(found)


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """With these changes, each of which must have something to change."""
    for old, new in changes:
        assert old in text, f"{old!r} is not on the page"
        text = text.replace(old, new)
    return text


def _at(servers: Sequence[LiveServer]) -> list[tuple[str, str]]:
    places = [server.url.removeprefix("http://") for server in servers]
    return list(zip(SERVERS, places, strict=True))


def _certificate(folder: Path) -> Path:
    """A certificate with its key."""
    made = folder / "certificate.pem"
    names = f"subjectAltName=DNS:{NAME},IP:127.0.0.1"
    command: list[str | Path] = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-subj", f"/CN={NAME}", "-addext", names,
               "-keyout", folder / "key.pem", "-out", made]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    made.write_text(made.read_text() + (folder / "key.pem").read_text())
    return made


def _nginx(folder: Path, proxy: Proxy, said: str) -> list[str]:
    """Its own folders, and no other user's rights: all else is as the page has it."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    account = "user root;" if os.geteuid() == 0 else ""
    listen = f"listen 127.0.0.1:{proxy.port}"
    if made := proxy.certificate:
        listen += f" ssl; ssl_certificate {made}; ssl_certificate_key {made}"
    config = f"""{account} daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;
        events {{}}
        http {{ access_log off; {folders}
        {replaced(said, ("listen 80;", f"{listen};"))} }}"""
    (folder / "nginx.conf").write_text(config)
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def _caddy(folder: Path, proxy: Proxy, said: str) -> list[str]:
    """At a port of its own, and gone when it is told to go."""
    scheme = proxy.url.partition(":")[0]
    sites = f"{scheme}://{proxy.host}, {proxy.url} {{\n"
    if made := proxy.certificate:
        sites += f"tls {made} {made}\n"
    alone = "{\nadmin off\nauto_https off\ngrace_period 50ms\n}\n"
    (folder / "Caddyfile").write_text(alone + replaced(said, (f"{NAME} {{\n", sites)))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


COMMANDS: Final = {"nginx": _nginx, "caddy": _caddy}
LANGUAGES: Final = {"nginx": "nginx", "caddy": "caddyfile"}


@contextmanager
def running_proxy(
    name: str,
    folder: Path,
    servers: Sequence[LiveServer],
    *changes: tuple[str, str],
    tls: bool = False,
) -> Iterator[Proxy]:
    """The proxy before two servers, as the page sets it up but for these changes."""
    if shutil.which(name) is None:
        pytest.skip(f"NOT TESTED WITH THE REAL {name}: apt-get install nginx-light caddy")
    said = replaced(snippet(LANGUAGES[name]), *_at(servers), *changes)
    folder.mkdir()
    with reserved_port() as port:
        proxy = Proxy(name, port, _certificate(folder) if tls else None)
        command = COMMANDS[name](folder, proxy, said)
        env = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        with (folder / "said").open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=env)
        try:
            _wait_for(port, process, folder / "said")
            yield proxy
        finally:
            process.terminate()
            process.wait(LIMIT)


def _wait_for(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    deadline = time.monotonic() + LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise AssertionError(said.read_text())
