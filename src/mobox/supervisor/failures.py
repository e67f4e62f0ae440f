"""How failures of runs are described: errors at the start, and the command that shows more."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from mobox.errors import InstallFailed, SandboxUnavailable
from mobox.events import Error
from mobox.settings import MEMORY, OWNER, Settings, without_password
from mobox.storage.log import Run

NOT_INSTALLED: Final = "not_installed"


def logs_command(run: Run, data: Path, settings: Settings) -> str | None:
    """The command that shows the output of a run, for any shell and any current folder.

    `None` if the chats are in memory. A password is not logged: it is in the variable.
    """
    url = settings.database_url
    if url == MEMORY:
        return None
    words = ["mobox", "logs", run.id, "--data", shlex.quote(str(data.absolute()))]
    if url:
        shown = '"$DATABASE_URL"' if without_password(url) != url else shlex.quote(url)
        words += ["--database-url", shown]
    if run.owner != OWNER:
        words.append(f"--owner={shlex.quote(run.owner)}")
    return " ".join(words)


def launch_error(error: InstallFailed | SandboxUnavailable | OSError) -> Error:
    if isinstance(error, InstallFailed):
        return Error(message=str(error), code=NOT_INSTALLED)
    if isinstance(error, SandboxUnavailable):
        problem = str(error)
        message = f"{problem[0].upper()}{problem[1:]}."
        return Error(message=message, code="sandbox_unavailable")
    why = error.strerror or error
    return Error(message=f"The agent cannot be started: {why}.", code="agent_start")
