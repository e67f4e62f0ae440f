"""The files of agents in the data folder: the state of each chat, the stderr of each attempt."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

from mobox.capture.catalog import Agent
from mobox.capture.execution import STDERR_TAIL
from mobox.sandbox.deleting import delete
from mobox.sandbox.kept_process import PASSED_ON
from mobox.sandbox.lending import opened
from mobox.storage.log import Run

log = logging.getLogger("mobox.supervisor")

SECRET: Final = 8
"""Values of at least this many characters are secrets: shorter ones are words."""
PIECE: Final = 4
"""A truncated secret of at least this many characters is redacted, too."""

_PART: Final = ".part"
MODEL_TOKEN: Final = re.compile(r"mbm_[A-Za-z0-9_-]{4,}")
"""The token of an agent for the model gateway."""
NETWORK_TOKEN: Final = re.compile(r"mbe_[A-Za-z0-9_-]{4,}")
"""Its token for the proxy, which is in the variables of HTTP clients (egress)."""

_NAME = re.compile(r"(?P<run>\w+)\.\d+\.stderr(\.part)?")


class StateFolders:
    """Names and deletes the folders; a sandbox creates them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, owner: str, chat_id: str) -> Path:
        """The folder of a chat. Its name is a hash: ids come from clients and are no file names."""
        name = hashlib.sha256(f"{len(owner)}:{owner}{chat_id}".encode()).hexdigest()
        return self._path / name[:32]

    @contextmanager
    def opened(self, owner: str, chat_id: str) -> Iterator[int]:
        """The descriptor of a chat's folder, wherever it is now; raises `OSError`."""
        number = opened(str(self.of(owner, chat_id)))
        try:
            yield number
        finally:
            os.close(number)

    def delete(self, owner: str, chat_id: str) -> None:
        """Delete a chat's state."""
        folder = self.of(owner, chat_id)
        delete_folder(folder)
        if os.path.lexists(folder):
            log.warning(
                "cannot delete the state folder of the deleted chat %r of owner %r: %s",
                chat_id,
                owner,
                folder,
            )


def delete_folder(folder: Path) -> None:
    """Delete a folder, also where agents have made it read-only, or nested it deeply."""
    delete(str(folder))


def without_tokens(text: str) -> str:
    """The text without the tokens that agents get from Mobox."""
    return NETWORK_TOKEN.sub("[network token]", MODEL_TOKEN.sub("[model token]", text))


class Redaction:
    """Replaces the values of an agent's environment variables by their names."""

    def __init__(self, agent: Agent, ours: Mapping[str, str] = os.environ) -> None:
        given = {name: ours.get(name, "") if v is None else v for name, v in agent.env.items()}
        secrets = [
            (value, name)
            for name, value in given.items()
            if len(value) >= SECRET and name not in PASSED_ON
        ]
        # Longest first: one may be part of another.
        self._secrets = sorted(secrets, key=lambda secret: len(secret[0]), reverse=True)

    def __call__(self, text: str) -> str:
        """The text without secrets. It may start in the middle of one, where it was truncated."""
        if len(text.encode()) >= STDERR_TAIL:
            text = self._without_piece(text)
        for value, name in self._secrets:
            text = text.replace(value, f"[{name}]")
        return without_tokens(text)

    def so_far(self, text: str) -> str:
        """The text without secrets, and without an end that may be the beginning of one.

        What is withheld is not lost: it is there with the next part of the text.
        """
        return self(text[: len(text) - self._beginning_at_end(text)])

    def _beginning_at_end(self, text: str) -> int:
        """How many of the last characters are the beginning of a secret that is not complete."""
        longest = max((len(value) for value, _ in self._secrets), default=1) - 1
        sizes = range(min(longest, len(text)), 0, -1)
        return next((size for size in sizes if self._begins_with(text[-size:])), 0)

    def _begins_with(self, piece: str) -> bool:
        return any(value.startswith(piece) and value != piece for value, _ in self._secrets)

    def _without_piece(self, text: str) -> str:
        for value, name in self._secrets:
            for start in range(1, len(value) - PIECE + 1):
                if text.startswith(value[start:]):
                    return f"[{name}]" + text.removeprefix(value[start:])
        return text


class CassetteFiles:
    """The recorded model calls of runs, which the gateway writes: `<run>.jsonl`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def delete(self, run_ids: Iterable[str]) -> None:
        """Delete those of these runs."""
        for run_id in run_ids:
            with suppress(OSError):
                (self._path / f"{run_id}.jsonl").unlink(missing_ok=True)


class StderrFolder:
    """A file for each attempt that wrote something: `<run>.<number>.stderr`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = Lock()  # an agent that is done may still write: two threads may store it

    def keep(self, run: Run, text: str) -> None:
        """Store the end of an attempt's stderr, at its end or so far; raises `OSError`."""
        data = text.encode("utf-8", "replace")[-STDERR_TAIL:]
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._writing, self._opened() as folder:
            os.fchmod(folder, 0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            name = _name(run, run.leg)
            written = name + _PART
            with os.fdopen(os.open(written, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(data)
            # At once, for who reads it while the agent works.
            os.replace(written, name, src_dir_fd=folder, dst_dir_fd=folder)

    def read(self, run: Run) -> dict[int, str]:
        """The stderr of a run's attempts, by attempt number."""
        kept = {}
        with suppress(FileNotFoundError), self._opened() as folder:
            for attempt in range(1, run.leg + 1):
                with suppress(FileNotFoundError):
                    kept[attempt] = _text(_name(run, attempt), folder)
        return kept

    def delete(self, run_ids: Iterable[str]) -> None:
        """Delete the stderr of all attempts of these runs; lists the whole folder."""
        with suppress(OSError), self._opened() as folder:
            for name in _files(folder, set(run_ids)):
                with suppress(OSError):  # another process may delete it, too
                    os.unlink(name, dir_fd=folder)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        number = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            yield number
        finally:
            os.close(number)


def _name(run: Run, attempt: int) -> str:
    return f"{run.id}.{attempt}.stderr"


def _files(folder: int, run_ids: set[str]) -> list[str]:
    found = filter(None, map(_NAME.fullmatch, os.listdir(folder)))
    return [match[0] for match in found if match["run"] in run_ids]


def _text(name: str, folder: int) -> str:
    number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    with os.fdopen(number, "rb") as file:
        return file.read(STDERR_TAIL).decode("utf-8", "replace")
