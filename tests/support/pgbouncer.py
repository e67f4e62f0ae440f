"""A real PgBouncer before a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from server.live_server import LIMIT, reserved_port
from support.postgres_server import ACCOUNT, USER


@contextmanager
def running_pgbouncer(
    server: str, mode: str, port: int | None = None, **options: object
) -> Iterator[str]:
    """The URL of the database at `server` through a PgBouncer in this mode."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("NOT TESTED WITH THE REAL pgbouncer: apt-get install pgbouncer")
    parts = urlsplit(server)
    (host,) = parse_qs(parts.query)["host"]
    database = parts.path.strip("/")
    folder = Path(tempfile.mkdtemp(prefix="mobox-pool-"))
    folder.chmod(0o755)
    with reserved_port() as free:
        port = port or free
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": mode,
        } | options
        config = folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n{database} = host={host} dbname={database} user={USER}\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in lines.items())
        )
        account: dict[str, Any] = {}
        if os.geteuid() == 0:  # which it refuses to be
            account = {"user": ACCOUNT, "extra_groups": []}
        log = folder / "log"
        with log.open("w") as said:
            process = subprocess.Popen([program, config], stdout=said, stderr=said, **account)
        try:
            _wait_for(port, process, log)
            yield f"postgresql://{USER}@127.0.0.1:{port}/{database}"
        finally:
            process.kill()
            process.wait(LIMIT)
            shutil.rmtree(folder)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise AssertionError(log.read_text())
